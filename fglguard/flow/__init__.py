"""Information flow: is what an agent does explained by its user, or by what it was told to do?"""
