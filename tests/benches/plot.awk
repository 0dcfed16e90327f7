# Draws lines of `rate p50 p99 p99.9` (microseconds) as an SVG: load to the right, latency upwards, by powers of ten.
BEGIN { width = 640; height = 360; left = 70; right = 90; top = 20; bottom = 50; split("p50 p99 p99.9", names, " "); split("#1b7f4b #b3541e #7a2e8e", colours, " ") }
{ for (i = 1; i <= NF; i++) { value[NR, i] = $i; if (i > 1 && $i > most) most = $i; if (i > 1 && (!least || $i < least)) least = $i } if ($1 > load) load = $1 }
function log10(x) { return log(x) / log(10) }
function x(v) { return left + v / load * (width - left - right) }
function y(v) { return height - bottom - (log10(v > 0 ? v : 1) - low) / (high - low) * (height - top - bottom) }
END {
  low = int(log10(least)); high = int(log10(most)) + 1
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n", width, height
  printf "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height
  for (p = low; p <= high; p++) {
    v = 10 ^ p; label = v >= 1000 ? v / 1000 " ms" : v " us"
    printf "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left, y(v), width - right, left - 6, y(v) + 4, label
  }
  for (i = 0; i <= 4; i++) printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d k</text>\n", x(load * i / 4), height - bottom + 18, load * i / 4000
  printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">GETs a second</text>\n", (width - right + left) / 2, height - 10
  for (i = 2; i <= 4; i++) {
    printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colours[i - 1]
    for (n = 1; n <= NR; n++) printf "%.1f,%.1f ", x(value[n, 1]), y(value[n, i])
    printf "\"/><text x=\"%d\" y=\"%.1f\" fill=\"%s\">%s</text>\n", width - right + 8, y(value[NR, i]) + 4, colours[i - 1], names[i - 1]
  }
  print "</svg>"
}
