"""Compares both sides of the wires with the types and clients of PyPI's `anthropic` and `openai`.

    check.py requests FILE.jsonl...  each line {"wire": ..., "body": {...}}; fails with each file's first mistake
    check.py answers BASE_URL        talks to a server that answers by answers.yaml; prints what the clients understood
"""

import json
import sys


def main() -> int:
    match sys.argv[1:]:
        case ["requests", *paths] if paths:
            import requests_check

            return requests_check.check(paths)
        case ["answers", url]:
            import answers_check

            print(json.dumps(answers_check.listen(url), indent=1, sort_keys=True, ensure_ascii=False))
            return 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
