"""Providers that can be told to misbehave: CRM, flights, hotels, chat and mail over HTTP, kept in PostgreSQL."""
