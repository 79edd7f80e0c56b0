"""A store on a Redis or Valkey server, shared by any number of machines."""
