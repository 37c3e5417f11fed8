.PHONY: release

# An archive for each system in dist/, and SHA256SUMS. VERSION=1.2.3 names it.
release:
	packaging/release.sh
