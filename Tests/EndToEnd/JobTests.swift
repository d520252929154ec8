import Foundation
import Support
import Testing

extension EndToEnd {
    /// Scripts as strangers would write them, each for one of the jobs that kf is made for.
    @Suite("Jobs")
    struct JobTests {
        let kf: KFCommand
        let server: FileServer

        init() throws {
            kf = try KFCommand()
            let names = [
                "cat.jpg": "jpeg/grey.jpg", "shop/cat.png": "png/grey.png", "shop/dog.jpg": "jpeg/landscape-420.jpg",
                "anim.gif": "gif/animated.gif", "two words.png": "png/rgb.png",
            ]
            for (name, fixture) in names { try kf.home.write("www/\(name)", FixturesDirectory.named(fixture).data) }
            server = try FileServer(root: kf.home.path("www"))
        }

        /// Runs a script in which `$site` is the server and `$www` the folder that it serves.
        private func run(_ script: String) async throws -> CommandResult {
            // The line that ends a script is named.
            let trap = "trap 'echo \"line $LINENO: $BASH_COMMAND\" >&2' ERR\n"
            return try await kf.script(
                trap + script, "-E", "-u", variables: ["site": server.address, "www": kf.home.path("www").path])
        }

        @Test("A shell script keeps a folder of images up to date")
        func nightly() async throws {
            let result = try await run(
                #"""
                cat > urls.txt <<LIST
                # the shop's pictures
                $site/cat.jpg
                "$site/shop/cat.png"
                $site/shop/dog.jpg    # our best seller
                $site/two words.png
                $site/gone.jpg
                LIST

                kf prefetch urls.txt --dry-run > plan.txt
                [[ $(grep -c '^missing' plan.txt) = 5 ]]

                status=0
                kf prefetch urls.txt --output-dir mirror --failures failed.txt > written.txt 2> log.txt || status=$?
                if [[ $status != 0 && $status != 1 ]]; then cat log.txt >&2; exit 9; fi
                [[ $(grep -vc -- '-[0-9a-f]\{8\}\.' written.txt) = 4 ]]
                [[ $(cat written.txt | wc -l) = 4 && $(cat failed.txt) = "$site/gone.jpg" ]]
                while read -r path; do [[ -s $path ]]; done < written.txt
                cmp mirror/cat.jpg "$www/cat.jpg"

                # Nothing is rewritten the second time, and what is gone is not asked for again.
                before=$(stat -c '%n %i %Y' mirror/*)
                kf prefetch urls.txt --output-dir mirror -q 2> log.txt || [[ $? = 1 ]]
                [[ $before = "$(stat -c '%n %i %Y' mirror/*)" ]]

                # The image is back.
                cp "$www/cat.jpg" "$www/gone.jpg"
                kf prefetch failed.txt -P mirror 2> log.txt && exit 9 || [[ $? = 1 ]]
                kf prefetch failed.txt -P mirror --retry-failed
                cmp mirror/gone.jpg "$www/gone.jpg"

                # A page needs each of its pictures, and the log of the run says what became of them.
                echo "$site/never.jpg" >> failed.txt
                kf prefetch failed.txt -P mirror --on-failure "$www/cat.jpg" --allow-failures --retry 0 --json > log.jsonl 2> log.txt
                cmp mirror/never.jpg "$www/cat.jpg"
                [[ $(jq -c 'select(.summary) | [.written, .unchanged, .failed]' log.jsonl) = '[1,1,1]' ]]
                [[ $(jq -r 'select(.status == "failed") | .source' log.jsonl) = "$site/never.jpg" ]]
                """#)
            #expect(result.status == 0, "\(result)")
            #expect(try await server.requests().filter { $0.path == "/gone.jpg" }.count == 2)
        }

        @Test("A nightly mirror notices what changed, and drops what its list no longer names")
        func mirror() async throws {
            let result = try await run(
                #"""
                night() {
                    kf prefetch urls.txt --revalidate -P mirror --prune-output --print written > changed.txt 2> report.txt || [[ $? = 1 ]]
                    kf prefetch urls.txt -P thumbs --prune-output --variant small=resize:16x --variant large=resize:64x -q || [[ $? = 1 ]]
                }
                printf '%s\n' "$site/cat.jpg" "$site/shop/dog.jpg" "$site/anim.gif" > urls.txt
                night
                [[ $(cat changed.txt | wc -l) = 3 && $(ls thumbs | wc -l) = 6 ]]

                # One picture changes in place, one goes from the list, one is new.
                touch -d 'next week' "$www/shop/dog.jpg"
                cp "$www/cat.jpg" "$www/shop/dog.jpg"
                printf '%s\n' "$site/cat.jpg" "$site/shop/dog.jpg" "$site/shop/cat.png" "$site/gone.jpg" > urls.txt
                night
                [[ $(sort changed.txt | tr '\n' ' ') = "mirror/cat.png mirror/dog.jpg " ]]
                cmp mirror/dog.jpg "$www/shop/dog.jpg"
                [[ $(ls mirror | tr '\n' ' ') = "cat.jpg cat.png dog.jpg " && $(ls thumbs | wc -l) = 6 ]]
                grep -q 'gone.jpg: response 404' report.txt
                grep -q '2 files written (.*), 1 unchanged, 1 removed' report.txt

                # Nothing happens in a night without changes.
                before=$(stat -c '%n %i %Y' mirror/* thumbs/*)
                night
                [[ ! -s changed.txt && $before = "$(stat -c '%n %i %Y' mirror/* thumbs/*)" ]]
                """#)
            #expect(result.status == 0, "\(result)")
        }

        @Test("A CI job restores its cache and builds without a network")
        func continuousIntegration() async throws {
            let result = try await run(
                #"""
                printf '%s\n' "$site/cat.jpg" "$site/shop/dog.jpg" "$site/anim.gif" > images.txt

                # First run: an empty cache.
                export KF_CACHE_DIR=$PWD/.kf-cache KF_TRUST_CACHE_DIR=1
                kf prefetch images.txt --dry-run --check > /dev/null && exit 9 || [[ $? = 1 ]]
                kf prefetch images.txt --deadline 5m --max-failures 5% --tag ci
                kf cache stat --json | grep -q '"entries":3'
                tar -C .kf-cache -cf cache.tar .
                images=$(cat "$www"/cat.jpg "$www"/shop/dog.jpg "$www"/anim.gif | wc -c)
                [[ $(stat -c %s cache.tar) -lt $(( images * 3 / 2 + 300000 )) ]]

                # Second run: the cache is restored somewhere else, and the network is gone.
                rm -rf .kf-cache restored; mkdir -m 700 restored; tar -C restored -xf cache.tar
                export KF_CACHE_DIR=$PWD/restored
                kf prefetch images.txt --dry-run --check
                kf prefetch images.txt --offline --output-dir build
                cmp build/dog.jpg "$www/shop/dog.jpg"
                [[ $(kf prefetch images.txt --json | tail -n 1 | grep -o '"cached":[0-9]*') = '"cached":3' ]]

                # The list has changed: what it no longer names goes, and a new image comes.
                printf '%s\n' "$site/cat.jpg" "$site/shop/cat.png" > images.txt
                kf prefetch images.txt --tag ci
                kf cache clean --tag ci --keep-list images.txt --dry-run > would.txt
                grep -q anim.gif would.txt
                kf cache clean --tag ci --keep-list images.txt
                [[ $(kf cache ls --tag ci --json | wc -l) = 2 ]]
                kf cache verify

                # The repository's own pictures: a fresh checkout has other times, and builds nothing again.
                mkdir -p repo/art && cp "$www/shop/dog.jpg" "$www/shop/cat.png" repo/art
                kf fetch repo/art -p resize:100x,shrink --json -P first | jq -r 'select(.summary | not) | .status' > built.txt
                [[ $(sort -u built.txt) = fetched ]]
                rm -rf repo; mkdir -p repo/art; cp "$www/shop/dog.jpg" "$www/shop/cat.png" repo/art
                kf fetch repo/art -p resize:100x,shrink --json -P second | jq -r 'select(.summary | not) | .status' > built.txt
                [[ $(sort -u built.txt) = disk ]]
                diff -r first second

                # A cache that is too small for the run says so.
                kf prefetch images.txt --max-size 60K --force-refresh 2> small.txt
                grep -q 'did not fit' small.txt
                """#)
            #expect(result.status == 0, "\(result)")
            #expect(try await server.requests().count == 6)
        }

        @Test("A developer inspects, cleans and repairs a cache")
        func inspection() async throws {
            let result = try await run(
                #"""
                kf fetch -q "$site/cat.jpg" "$site/shop/cat.png" "$site/shop/dog.jpg" "$site/anim.gif"
                kf fetch -q "$site/shop/dog.jpg" -p resize:64x --tag thumbs

                kf cache stat | grep -q '5 entries\|entries.*5'
                [[ $(kf cache ls --format jpeg | wc -l) = 3 ]]
                [[ $(kf cache ls "$site/shop/*" | wc -l) = 3 ]]
                [[ $(kf cache ls --larger-than 100K | wc -l) -ge 1 ]]
                [[ $(kf cache ls --processor resize:64x | wc -l) = 1 ]]
                [[ $(kf cache ls --tag thumbs | wc -l) = 1 ]]
                kf cache ls --sort size --limit 1 | grep -q dog.jpg

                # Which URL is this file of?
                path=$(kf cache path "$site/cat.jpg")
                kf cache which "$path" | grep -q "$site/cat.jpg"
                cp "$path" copy.jpg
                kf cache which copy.jpg | grep -q "$site/cat.jpg"
                kf cache which "$(sha256sum < copy.jpg | cut -d ' ' -f 1)" | grep -q "$site/cat.jpg"
                kf cache explain "$site/cat.jpg" | grep -qi fresh

                # What would go, and what goes.
                kf cache rm "$site/shop/dog.jpg" --dry-run | grep -q dog.jpg
                [[ $(kf cache ls | wc -l) = 5 ]]
                kf cache rm "$site/shop/dog.jpg"
                [[ $(kf cache ls | wc -l) = 3 ]]
                kf cache rm "$site/shop/dog.jpg" && exit 9 || [[ $? = 1 ]]

                # Why is it fetched again?
                kf cache explain "$site/shop/dog.jpg" | grep -q 'removed by a command'
                [[ $(kf fetch "$site/shop/dog.jpg" --json | jq -r 'select(.fetch_reason) | .fetch_reason') = removed ]]
                kf cache clean --max-size 1 > /dev/null
                kf fetch -v "$site/shop/dog.jpg" 2>&1 | grep -q 'fetched (evicted on 20'
                kf fetch -q "$site/cat.jpg" "$site/shop/cat.png"
                kf fetch -q "$site/shop/cat.png" --tag kept
                kf cache tags | grep -q kept

                # A damaged file.
                chmod u+w "$path"; printf x | dd of="$path" bs=1 seek=100 conv=notrunc status=none
                kf cache verify > damage.txt 2>&1 && exit 9 || [[ $? = 1 ]]
                grep -q cat.jpg damage.txt
                kf cache verify --repair
                kf cache verify
                kf fetch "$site/cat.jpg" -o again.jpg && cmp again.jpg "$www/cat.jpg"
                kf cache report -o cache.html && grep -q 'shop/cat.png' cache.html
                """#)
            #expect(result.status == 0, "\(result)")
        }

        @Test("A static site gets thumbnails in the folders of the originals")
        func staticSite() async throws {
            let result = try await run(
                #"""
                mkdir -p photos/2026/spring
                cp "$www/shop/dog.jpg" photos/2026/spring/dog.jpg
                cp "$www/cat.jpg" photos/2026/cat.jpg
                cp "$www/shop/cat.png" photos/cat.png
                echo "not for the site" > photos/2026/notes.txt

                build() {
                    kf fetch photos --output-dir public --create-dirs --name '{dir}/{stem}-{variant}.{ext}' \
                        --variant 'thumb=resize:160x160,fit|>encode:webp,quality=70' \
                        --variant 'wide=resize:800x' > built.txt
                }
                build
                [[ $(wc -l < built.txt) = 6 ]]
                [[ -s public/2026/spring/dog-thumb.webp && -s public/2026/cat-wide.jpg && -s public/cat-wide.png ]]

                # The second build changes no file, so that nothing is uploaded again.
                touch -d '2026-01-01' public/*.webp public/*/*.webp
                before=$(find public -type f -printf '%P %i %T@\n' | sort)
                build
                [[ $before = "$(find public -type f -printf '%P %i %T@\n' | sort)" ]]

                # A clone elsewhere, with other times, has the same names.
                cp -r photos clone
                (cd clone && kf fetch . --output-dir ../other --name '{dir}/{stem}-{hash8}.{ext}') > /dev/null
                (cd photos && kf fetch . --output-dir ../same --name '{dir}/{stem}-{hash8}.{ext}') > /dev/null
                [[ $(cd other && find . -type f | sort) = "$(cd same && find . -type f | sort)" ]]

                # Several widths and formats, each with its quality, of pictures that are never enlarged.
                mkdir widths && cp photos/cat.png photos/2026/spring/dog.jpg widths
                kf fetch widths -P srcset --name '{stem}-{width}.{ext}' --quality webp=70,jpeg=80 \
                    --variant 's=resize:40x,shrink|>encode:webp' --variant 'm=resize:90x,shrink|>encode:webp' \
                    --variant 'x=resize:5000x,shrink' > /dev/null
                wide=$(kf fetch photos/2026/spring/dog.jpg --json | jq -r 'select(.width) | .width')
                cat=$(kf fetch photos/cat.png --json | jq -r 'select(.width) | .width')
                [[ $(ls srcset | sort | tr '\n' ' ') = "$(printf '%s\n' cat-40.webp dog-40.webp dog-90.webp \
                    "dog-$wide.jpg" "cat-$cat.png" "$( ((cat < 90)) && echo "cat-$cat.webp" || echo cat-90.webp)" | sort | tr '\n' ' ')" ]]

                # One picture in two formats, and a still of an animation.
                kf fetch photos/cat.png -f webp -f jpeg --background '#fff' -P hero
                [[ -s hero/cat.webp && -s hero/cat.jpg ]]
                kf fetch "$site/anim.gif" -o hero/still.png 2> warning.txt
                grep -q 'animation of 12 frames' warning.txt
                kf fetch "$site/anim.gif" --first-frame -o hero/first.png 2> warning.txt && [[ ! -s warning.txt ]]
                """#)
            #expect(result.status == 0, "\(result)")
        }

        @Test("A table becomes a data set in two shards with a manifest")
        func dataSet() async throws {
            let result = try await run(
                #"""
                cat > table.csv <<LIST
                id,label,picture
                a1,cat,$site/cat.jpg
                b2,"dog, brown",$site/shop/dog.jpg
                c3,gone,$site/gone.jpg
                d4,cat,$site/shop/cat.png
                LIST

                for shard in 0 1; do
                    kf prefetch table.csv --url-column picture -P data --name '{id}.{ext}' --shard $shard/2 \
                        --check full --failures failed-$shard.csv --json > log-$shard.jsonl || [[ $? = 1 ]]
                done
                cmp data/a1.jpg "$www/cat.jpg" && cmp data/b2.jpg "$www/shop/dog.jpg" && cmp data/d4.png "$www/shop/cat.png"
                [[ $(cat failed-*.csv | grep -c '^c3,gone') = 1 && $(cat failed-*.csv | grep -c '^a1') = 0 ]]

                # A manifest of names and hashes.
                cat log-*.jsonl | grep -o '"output":"[^"]*"\|"sha256":"[^"]*"' | cut -d '"' -f 4 | paste - - > manifest.tsv
                [[ $(wc -l < manifest.tsv) = 3 ]]
                while IFS=$'\t' read -r file hash; do echo "$hash  $file"; done < manifest.tsv | sha256sum --quiet -c -

                # The same from JSON, with several pictures in a record, from a pipe.
                cat > records.jsonl <<LIST
                {"id":"r1","images":[{"url":"$site/cat.jpg"},{"url":"$site/shop/dog.jpg"}]}
                {"id":"r2","images":[{"url":"$site/shop/cat.png"}]}
                LIST
                cat records.jsonl | kf prefetch - --url-column 'images[].url' -P json --name '{id}-{index:04}.{ext}' | sort > json.txt
                [[ $(cat json.txt | tr '\n' ' ') = 'json/r1-0001.jpg json/r1-0002.jpg json/r2-0003.png ' ]]
                kf prefetch records.jsonl --url-column 'images[].url' --json | tail -n 1 | grep -q '"cached":3'

                # A broken picture is used as far as it goes, and no sample tells where it was taken.
                head -c 2000 "$www/cat.jpg" > "$www/broken.jpg"
                printf '%s\n' "$site/broken.jpg" "$site/shop/dog.jpg" > clean.txt
                kf prefetch clean.txt -P clean 2> /dev/null && exit 9 || [[ $? = 1 ]]
                kf prefetch clean.txt -P clean --lenient --strip-metadata 2> lenient.txt
                [[ $(ls clean | tr '\n' ' ') = 'broken.jpg dog.jpg ' ]] && grep -q 'the JPEG is truncated' lenient.txt

                # By content, for training.
                kf prefetch table.csv --url-column picture -P content --name '{sha256}.{ext}' > /dev/null 2>&1 || [[ $? = 1 ]]
                [[ -s content/$(sha256sum < "$www/cat.jpg" | cut -d ' ' -f 1).jpg ]]
                kf prefetch table.csv --url-column image 2> column.txt && exit 9 || [[ $? = 2 ]]
                grep -q 'picture' column.txt
                """#)
            #expect(result.status == 0, "\(result)")
        }

        @Test("A program drives kf over pipes")
        func driver() async throws {
            let result = try await run(
                #"""
                coproc KF { kf prefetch - --input-format jsonl --json -q 2> driver.txt; }
                ask() {
                    echo "{\"url\":\"$1\",\"id\":$2}" >&"${KF[1]}"
                    read -r -t 20 answer <&"${KF[0]}"
                    [[ $(jq .columns.id <<< "$answer") = "$2" ]]
                }
                ask "$site/cat.jpg" 1
                [[ $(jq -r .fetch_reason <<< "$answer") = new ]]
                cmp "$(jq -r .path <<< "$answer")" "$www/cat.jpg"
                ask "$site/gone.jpg" 2
                [[ $(jq -c '[.status, .error.code]' <<< "$answer") = '["failed",2002]' ]]
                ask "$site/cat.jpg" 3
                [[ $(jq -r .status <<< "$answer") = cached ]]
                end=$KF_PID input=${KF[1]}
                exec {input}>&-
                read -r -t 20 answer <&"${KF[0]}"
                [[ $(jq -c '[.summary, .fetched, .cached, .failed]' <<< "$answer") = '[true,1,1,1]' ]]
                wait "$end" && exit 9 || [[ $? = 1 ]]
                """#)
            #expect(result.status == 0, "\(result)")
            #expect(try await server.requests().count == 2)
        }

        @Test("Habits from curl and wget work")
        func firstContact() async throws {
            let result = try await run(
                #"""
                kf > overview.txt 2>&1 && exit 9 || [[ $? = 2 ]]
                grep -q 'kf fetch' overview.txt
                kf --version | grep -q '^kf [0-9]'
                kf help fetch | grep -q -- '--output-dir'

                kf fetch "$site/cat.jpg" > path.txt && cmp "$(cat path.txt)" "$www/cat.jpg"
                kf fetch -O "$site/cat.jpg" && cmp cat.jpg "$www/cat.jpg"
                kf fetch "$site/cat.jpg" -P downloads && [[ -s downloads/cat.jpg ]]
                kf fetch "$site/cat.jpg" -o pictures/ && [[ -s pictures/cat.jpg ]]
                kf fetch "$site/cat.jpg" -o deep/er/cat.jpg --create-dirs && [[ -s deep/er/cat.jpg ]]
                echo mine > mine.jpg; kf fetch "$site/cat.jpg" -o mine.jpg --no-clobber; grep -q mine mine.jpg
                kf fetch "$site/cat.jpg" -o cat.webp && [[ $(head -c 12 cat.webp | tail -c 4) = WEBP ]]
                kf fetch "$site/cat.jpg" -o - | cmp - "$www/cat.jpg"
                kf fetch "$site/two words.png" -q

                kf cache put "$www/shop/cat.png" --key "$site/never.png" > /dev/null
                kf fetch "$site/never.png" --offline -o put.png && cmp put.png "$www/shop/cat.png"
                env -i "$(command -v kf)" fetch "$site/cat.jpg" -o homeless.jpg 2> /dev/null
                cmp homeless.jpg "$www/cat.jpg"
                """#)
            #expect(result.status == 0, "\(result)")
        }
    }
}
