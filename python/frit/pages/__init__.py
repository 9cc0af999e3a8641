"""Self-contained HTML pages: drawings as inline SVG, style and script from the files in this folder."""
