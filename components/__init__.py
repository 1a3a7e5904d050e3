"""The Pulumi program: settings, plan, clouds and serving."""
