"""The functions of the Array API's namespace, and what documents them."""
