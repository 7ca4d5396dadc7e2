#!/usr/bin/env bash
# Makes the stream of the demo world, demo/: 24 seconds in a loop, as six segments of
# H.264 and AAC. It needs ffmpeg with libx264, and the DejaVu fonts. Everything in it is
# generated. plugins/web/stream.ts serves it as a live stream.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../demo"

fonts=/usr/share/fonts/truetype/dejavu
font=$fonts/DejaVuSans-ExtraLight.ttf

# Everything moves by turns of the whole loop, or of parts of it, so that its end meets
# its beginning.
turn='2*PI*T/24'
# How bright a spot is here: its center and its size, as parts of the width.
spot() { echo "exp(-(pow(X/W-($1),2)+pow((Y-H/2)/W-($2),2))/$3)"; }
teal=$(spot "0.3+0.16*cos($turn)" "0.1*sin($turn)" 0.05)
blue=$(spot "0.72+0.14*sin($turn)" "0.12*cos($turn)" 0.06)
rose=$(spot "0.5+0.3*cos(2*$turn+2)" "0.2*sin($turn+1)" 0.016)
picture="geq=r='min(255,11+14*$teal+52*$blue+96*$rose)':g='min(255,18+112*$teal+48*$blue+26*$rose)':b='min(255,32+94*$teal+126*$blue+56*$rose)'"

words="drawtext=fontfile=$font:text=Foyer:fontsize=118:fontcolor=white@0.94:x=(w-text_w)/2:y=(h-text_h)/2-26"
# A light that passes over a row of dots, every four seconds.
dots=
for n in 0 1 2 3 4; do
  dots+=",drawtext=fontfile=$fonts/DejaVuSans.ttf:text=●:fontsize=17:fontcolor=white:x=w/2+($n-2)*40-text_w/2:y=h/2+92"
  dots+=":alpha='0.18+0.75*exp(-pow((mod(t,4)-0.4-$n*0.8)/0.42,2))'"
done

# A chord that swells and fades twice in the loop. Its frequencies fit into it, too.
tone="0.05*(0.55-0.45*cos(2*PI*t/12))*(sin(2*PI*196*t)+0.7*sin(2*PI*294*t)+0.4*sin(2*PI*392*t))"

rm -f ./*.m4s ./*.mp4
ffmpeg -hide_banner -loglevel warning -bitexact \
  -f lavfi -i "color=black:s=96x54:r=25:d=24,format=gbrp,$picture,scale=960x540:flags=bicubic,format=yuv420p,$words$dots" \
  -f lavfi -i "aevalsrc='$tone':s=48000:d=24" \
  -map 0:v -map 1:a -t 24 -flags +bitexact \
  -c:v libx264 -profile:v main -preset veryslow -tune animation -crf 25 -g 100 -keyint_min 100 -sc_threshold 0 \
  -c:a aac -ac 1 -b:a 40k \
  -f hls -hls_time 4 -hls_segment_type fmp4 -hls_playlist_type vod \
  -hls_fmp4_init_filename init.mp4 -hls_segment_filename '%d.m4s' playlist.m3u8
cat playlist.m3u8
rm playlist.m3u8
