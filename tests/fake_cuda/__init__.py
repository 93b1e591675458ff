"""CUDA without a card: NVIDIA's library and its compiler as `library` and `compiler` have them."""
