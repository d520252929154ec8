#!/bin/bash
# Checks the workflows and the action against the schemas that check-jsonschema (PyPI) brings. usage: check_workflows.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
kept=.build/workflows
version=0.39.0
if [[ ! -e $kept/installed-$version ]]; then
    echo "workflows: installing check-jsonschema $version from PyPI into $kept"
    /usr/bin/python3 -m venv --clear "$kept"
    "$kept/bin/pip" install -q "check-jsonschema==$version"
    touch "$kept/installed-$version"
fi
if grep -rn 'secrets\.' .github; then
    echo "workflows: nothing but the job's own token is used" >&2
    exit 1
fi
"$kept/bin/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml
"$kept/bin/check-jsonschema" --builtin-schema vendor.github-actions .github/actions/*/action.yml
