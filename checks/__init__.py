"""What people run beside Pulumi: before `up`, after it, and after `destroy`."""
