# Draws lines of `rate p50 p99 p99.9` (microseconds) as an SVG: load to the right, latency upwards, by powers of ten. With
# `-v scheme=dark` it is for a dark page.
BEGIN {
  width = 640; height = 360; left = 70; right = 90; top = 20; bottom = 50; split("p50 p99 p99.9", names, " ")
  dark = scheme == "dark"; ground = dark ? "#0d1117" : "#fff"; ink = dark ? "#e6edf3" : "#1f2328"; grid = dark ? "#30363d" : "#ddd"
  split(dark ? "#4ac47f #f0883e #d29bff" : "#1b7f4b #b3541e #7a2e8e", colours, " ")
}
/^#/ { next }
{ rows++; for (i = 1; i <= NF; i++) { value[rows, i] = $i; if (i > 1 && $i > most) most = $i; if (i > 1 && (!least || $i < least)) least = $i } if ($1 > load) load = $1 }
function log10(x) { return log(x) / log(10) }
function x(v) { return left + v / load * (width - left - right) }
function y(v) { return height - bottom - (log10(v > 0 ? v : 1) - low) / (high - low) * (height - top - bottom) }
END {
  low = int(log10(least) + 0.001); high = int(log10(most)) + 1
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"%s\">\n", width, height, ink
  printf "<rect width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", width, height, ground
  for (p = low; p <= high; p++) {
    v = 10 ^ p; label = v >= 1000 ? v / 1000 " ms" : v " us"
    printf "<path d=\"M%d %.1fH%d\" stroke=\"%s\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left, y(v), width - right, grid, left - 6, y(v) + 4, label
  }
  step = 10 ^ int(log10(load)); if (load / step < 4) step /= 2
  for (v = 0; v <= load; v += step) printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x(v), height - bottom + 18, v ? v / 1000 " k" : 0
  printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">GETs a second</text>\n", (width - right + left) / 2, height - 10
  named = height
  for (i = 2; i <= 4; i++) {
    printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colours[i - 1]
    for (n = 1; n <= rows; n++) printf "%.1f,%.1f ", x(value[n, 1]), y(value[n, i])
    # A name keeps away from the one below it.
    place = y(value[rows, i]) + 4; named = place > named - 14 ? named - 14 : place
    printf "\"/><text x=\"%d\" y=\"%.1f\" fill=\"%s\">%s</text>\n", width - right + 8, named, colours[i - 1], names[i - 1]
  }
  print "</svg>"
}
