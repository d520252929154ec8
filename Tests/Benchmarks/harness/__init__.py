"""What every benchmark needs: a run's figures, a server, inputs, peers, floors, a table."""
