"""What hyperprobe gives to other tools, and what it takes from them."""
