"""Records and numbers -> the page that people look at."""
