"""What every room uses: errors, files, progress, phones, and the native library."""
