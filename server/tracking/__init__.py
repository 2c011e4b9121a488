"""Where a run's figures go besides its folder: TensorBoard, MLflow."""
