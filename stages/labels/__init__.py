"""Questions and labels of a whole dataset -> what is wrong between them; pure."""
