# SPDX-License-Identifier: MIT
# Bars of time an operation, on a log axis, with error bars; one to three panels (a above b above c).
# micro_ratio.py drives it and sets: out notes notes_y footer height panels, and for each panel
# X: X_caption X_data X_series X_groups X_titles X_colours X_columns X_key X_min X_max X_top X_bottom.
# One line of data an operation: its name, then for each series value, low, high in seconds
# (NaN: not measured).
if (!exists("a_data")) { print "micro.gp: no data given; run micro_ratio.py TIDY_CSV"; exit status 2 }

field(text, n) = system(sprintf("printf '%%s' '%s' | cut -d'|' -f%d", text, n))
array decade[10] = ["1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", \
                    "100 ms", "1 s"]
array power[10] = [1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1]

set style data histogram
set style histogram errorbars gap 1.3 lw 1
set style fill solid 0.85 noborder
set boxwidth 0.9 relative
set errorbars 0.5 front lc rgb "#222222" lw 0.8
set logscale y 10
set ytics nomirror out scale 0.5 ("" 1e-30)
set grid ytics lc rgb "#DDDDDD" lw 1 dt solid
set border 3 lw 0.6
set xtics nomirror scale 0 font ",7"
set lmargin 10.5
set rmargin 1

do for [kind in "pdf png"] {
    if (kind eq "pdf") {
        set terminal pdfcairo size 7.0in, height font "DejaVu Sans,7.5" linewidth 0.8
    } else {
        set terminal pngcairo size 1400, int(height * 200) font "DejaVu Sans,7.5" \
            fontscale 2.08 linewidth 1.7 background rgb "white"
    }
    set output out . "." . kind
    set multiplot
    set label 1 notes at screen 0.008, screen notes_y left front tc rgb "#333333" font ",5.6"
    set label 2 footer at screen 0.008, screen 0.1 / height left front tc rgb "#777777" font ",5"
    do for [p in substr("a b c", 1, 2 * panels - 1)] {
        series = value(p . "_series"); file = value(p . "_data")
        titles = value(p . "_titles"); colours = value(p . "_colours")
        array ink[series]
        array name[series]
        do for [i = 1:series] { ink[i] = field(colours, i); name[i] = field(titles, i) }
        least = value(p . "_min"); most = value(p . "_max")
        set yrange [least:most]
        every = most / least > 1e5 ? 2 : 1
        set ytics nomirror out scale 0.5 ("" 1e-30)
        do for [i = 1:10] {
            if (i % every == 1 % every) { set ytics add (decade[i] power[i]) }
        }
        set xrange [-0.62:value(p . "_groups") - 0.38]
        set tmargin at screen value(p . "_top")
        set bmargin at screen value(p . "_bottom")
        set label 3 "time an operation, " . value(p . "_caption") at screen 0.02, \
            screen (value(p . "_top") + value(p . "_bottom")) / 2 rotate by 90 center
        set key at screen 0.5, screen value(p . "_top") + 0.48 * value(p . "_key") / height center center \
            horizontal Left reverse samplen 1.0 width 1 maxcols value(p . "_columns")
        plot for [i = 1:series] file using (column(3 * i - 1)):(column(3 * i)):(column(3 * i + 1)):xtic(1) \
            title name[i] lc rgb ink[i]
        unset label 1
        unset label 2
        undefine ink name
    }
    unset multiplot
    unset output
}
