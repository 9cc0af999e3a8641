"""What a program compiled to and what ran of it: `frit.explain`, `frit.counts`, and why Dynamo compiled again."""
