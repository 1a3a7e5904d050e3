"""What will be built and what it costs, decided before the first API call; imports no pulumi."""
