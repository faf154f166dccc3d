"""`banyan report`: every measurement of scaling, run as a user would, and one page of what they say."""
