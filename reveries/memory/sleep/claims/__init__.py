"""What people claim: read out of new turns, and compared with what was claimed before."""
