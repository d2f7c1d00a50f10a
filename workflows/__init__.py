"""This application's workflows."""
