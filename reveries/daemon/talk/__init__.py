"""What a turn of talk is made of: its context, the reply, and what is stored."""
