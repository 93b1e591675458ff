"""All proofs that need a card, in one command that goes on where it was interrupted."""
