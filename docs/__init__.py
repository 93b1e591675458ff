"""The pages of the documentation, part of the wheel: ``phalanx docs`` lists and shows them."""
