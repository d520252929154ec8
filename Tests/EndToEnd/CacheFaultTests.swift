import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Disk faults", .enabled("no mounts here") { await MountedCache.isPossible() })
    struct CacheFaultTests {
        let cache: MountedCache

        init() throws { cache = MountedCache(kf: try KFCommand()) }

        private func expectSuccess(_ script: String, errors: [String] = []) async throws {
            let result = try await cache.run(script)
            #expect(result.status == 0, "\(result)")
            #expect(result.errorLines.count == errors.count, "\(result)")
            for (line, words) in zip(result.errorLines, errors) { #expect(line.contains(words), "\(result)") }
        }

        @Test(
            "On a full disk images are delivered, and hits are served",
            arguments: [
                ("size=1m", "cat /dev/zero >$C/filler 2>/dev/null || true"),
                (
                    "size=8m,nr_inodes=50",
                    "i=0; while [ $i -lt 60 ] && touch $C/filler$i 2>/dev/null; do i=$((i+1)); done"
                ),
            ])
        func full(_ mount: String, fill: String) async throws {
            try await expectSuccess(
                """
                mkdir "$C"; mount -t tmpfs -o mode=700,\(mount) none "$C"
                kf fetch -q $F/png/grey.png
                \(fill)
                fails 3 kf fetch $F/jpeg/landscape-444.jpg -o $H/delivered
                cmp $H/delivered $F/jpeg/landscape-444.jpg
                kf fetch $F/png/grey.png -o $H/hit; cmp $H/hit $F/png/grey.png
                echo "$F/jpeg/landscape-422.jpg" | fails 3 kf prefetch --allow-local -q - 2>$H/words
                grep -q 'No space left' $H/words
                [ -z "$(find $C/v1/tmp $C/v1/partial -type f)" ]
                rm $C/filler*
                kf fetch -q $F/jpeg/landscape-444.jpg; kf fetch --only-from-cache $F/jpeg/landscape-444.jpg -o $H/again
                cmp $H/again $F/jpeg/landscape-444.jpg
                kf cache verify -q
                """, errors: ["kf cache clean --max-size SIZE makes room"])
        }

        @Test("Without room for a cache, images are still delivered")
        func neverRoom() async throws {
            for mount in ["size=4k", "size=64k", "nr_inodes=2", "nr_inodes=8"] {
                let result = try await cache.run(
                    """
                    mkdir -p "$C"; mount -t tmpfs -o mode=700,\(mount) none "$C"
                    fails 3 kf fetch $F/png/rgb.png -o $H/delivered; cmp $H/delivered $F/png/rgb.png; rm $H/delivered
                    """)
                #expect(result.status == 0 && result.errors.contains("the disk is full"), "\(mount): \(result)")
            }
        }

        @Test("A disk that fills during a download does not lose the image")
        func fullWithinABody() async throws {
            let files = try TemporaryDirectory()
            let body = files.url.appendingPathComponent("body.png")
            // Not a multiple of any buffer, so that its end is written by itself.
            let picture = try Data(contentsOf: FixturesDirectory.url.appendingPathComponent("png/rgb.png"))
            let filler = PNGChunk.bytes("kfFi", [UInt8](repeating: 7, count: 700_000))
            try (picture.dropLast(12) + Data(filler) + picture.suffix(12)).write(to: body)
            let server = try FileServer(root: files.url)
            let url = server.url("body.png")
            try await expectSuccess(
                """
                mkdir "$C"; mount -t tmpfs -o mode=700,size=8m none "$C"
                kf fetch -q $F/png/grey.png
                for free in 200 300 400 500 600 700 800 900 940; do
                    left=$(df -k --output=avail "$C" | tail -1)
                    fallocate -l $((left - free))K "$C/filler"
                    fails 3 kf fetch -q \(url) -o $H/delivered 2>$H/words
                    grep -q 'the disk is full' $H/words
                    cmp $H/delivered '\(body.path)'; rm $H/delivered "$C/filler"
                    [ -z "$(find $C/v1/tmp $C/v1/partial -type f)" ]
                done
                kf fetch -q \(url) -o $H/delivered; cmp $H/delivered '\(body.path)'
                kf cache verify -q
                """)
            try await server.stop()
        }

        @Test("A full disk can be cleaned, thanks to the reserve")
        func reserve() async throws {
            try await expectSuccess(
                """
                mkdir "$C"; mount -t tmpfs -o mode=700,size=80m none "$C"
                for file in $F/png/*.png; do kf fetch -q $file; done
                [ -f $C/v1/reserve ]
                # Without its log and the memory beside it, even opening the index takes room.
                sqlite3 $C/v1/index.sqlite 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
                [ ! -f $C/v1/index.sqlite-shm ]
                cat /dev/zero >$C/filler 2>/dev/null || true
                kf cache clean --all --yes -q
                [ ! -f $C/v1/reserve ]; [ -z "$(find $C/v1/objects -type f)" ]
                kf fetch -q $F/jpeg/landscape-444.jpg; kf cache verify -q
                """)
        }

        /// Seven noisy images of 400 kB as `$H/0.png` and so on, which nothing makes smaller.
        private static let noise = """
            python3 - $H <<'END'
            import os, struct, sys, zlib
            def chunk(kind, data):
                return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
            for number in range(7):
                rows = b''.join(b'\\0' + os.urandom(1095) for _ in range(365))
                with open(f'{sys.argv[1]}/{number}.png', 'wb') as file:
                    file.write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 365, 365, 8, 2, 0, 0, 0))
                        + chunk(b'IDAT', zlib.compress(rows, 0)) + chunk(b'IEND', b''))
            END
            """

        @Test("A cache above its limit evicts on a full disk", arguments: ["fetch", "prefetch"])
        func aboveLimit(_ command: String) async throws {
            let store =
                command == "fetch"
                ? "kf fetch -q --max-size 2M $H/6.png"
                : "echo $H/6.png | kf prefetch -q --allow-local --max-size 2M -"
            try await expectSuccess(
                """
                mkdir "$C"; mount -t tmpfs -o mode=700,size=3m none "$C"
                \(Self.noise)
                for n in 0 1 2 3 4 5; do kf fetch -q --max-size 100M $H/$n.png; done
                # Below its limit the cache keeps what it has: the disk is full of something else.
                fails 3 kf fetch --max-size 100M $H/6.png -o $H/delivered
                cmp $H/delivered $H/6.png
                [ $(kf cache ls | wc -l) = 6 ]
                \(store)
                kf fetch --only-from-cache $H/6.png -o $H/hit; cmp $H/hit $H/6.png
                [ $(du -sk $C/v1/objects | cut -f1) -lt 2048 ]
                kf cache verify -q
                """, errors: ["the disk is full"])
        }

        @Test("A full disk of copies ends a run with status 3", arguments: ["fetch", "prefetch"])
        func fullOutput(_ command: String) async throws {
            let run = command == "fetch" ? "kf fetch $H/[0-6].png" : "ls $H/[0-6].png | kf prefetch --allow-local -"
            let result = try await cache.run(
                """
                mkdir $H/out; mount -t tmpfs -o size=1m none $H/out
                \(Self.noise)
                got=0; \(run) -P $H/out 2>$H/words || got=$?; [ $got = 3 ] || { cat $H/words; exit 1; }
                grep -q 'cannot write .*: No space left on device' $H/words
                for file in $(ls $H/out); do cmp $H/out/$file $H/$file; done
                [ $(ls -A $H/out | wc -l) -le 2 ]
                """)
            #expect(result.status == 0, "\(result)")
        }

        @Test("A read-only cache that has all images serves a list", arguments: ["", "-P $H/out --create-dirs"])
        func readOnlyList(_ options: String) async throws {
            try await expectSuccess(
                """
                ls $F/png/grey.png $F/png/rgb.png >$H/list
                kf prefetch -q --allow-local $H/list
                kf prefetch --allow-local --read-only $H/list \(options) 2>$H/words
                grep -q '2 cached, 0 failed' $H/words
                mount --bind "$C" "$C"; mount -o remount,bind,ro "$C"
                kf prefetch -q --allow-local $H/list \(options)
                echo $F/jpeg/landscape-444.jpg >>$H/list
                fails 3 kf prefetch --allow-local --read-only $H/list \(options) 2>$H/words
                grep -q 'landscape-444.jpg: not in the cache' $H/words; grep -q 'open for reading only' $H/words
                """)
        }

        @Test("A read-only directory serves hits and warns once of misses")
        func readOnly() async throws {
            try await expectSuccess(
                """
                kf fetch -q $F/png/grey.png; kf fetch -q $F/png/rgb.png
                mount --bind "$C" "$C"; mount -o remount,bind,ro "$C"
                kf fetch --only-from-cache $F/png/grey.png -o $H/hit; cmp $H/hit $F/png/grey.png
                kf fetch $F/jpeg/landscape-444.jpg -o $H/miss; cmp $H/miss $F/jpeg/landscape-444.jpg
                echo "$F/jpeg/landscape-422.jpg" | fails 3 kf prefetch --allow-local -q - 2>/dev/null
                kf cache stat -q >/dev/null; kf cache verify -q
                """, errors: ["cannot be written to"])
        }

        @Test("A read-only cache is read without the log's shared memory")
        func readOnlyLog() async throws {
            try await expectSuccess(
                """
                kf fetch -q $F/png/grey.png
                [ -s $C/v1/index.sqlite-wal ]; rm $C/v1/index.sqlite-shm
                mount --bind "$C" "$C"; mount -o remount,bind,ro "$C"
                kf fetch --only-from-cache $F/png/grey.png -o $H/hit; cmp $H/hit $F/png/grey.png
                kf cache verify -q
                [ -z "$(find $H -maxdepth 1 -name 'kf-index-*')" ]
                """)
        }
    }

    @Suite("Cache owners", .enabled(if: geteuid() == 0, "only root can be another user"))
    final class OwnerTests: CommandSuite {
        private func asNobody(
            _ arguments: [String], _ variables: [String: String] = [:]
        ) async throws -> CommandResult {
            try await kf.with(variables).run(
                arguments, under: "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
        }

        /// A copy of a fixture that everybody can read, in a directory that everybody can enter.
        private func readable() throws -> (path: String, data: Data) {
            let data = try FixturesDirectory.named("png/grey.png").data
            let path = try kf.home.write("image.png", data).path
            #expect(chmod(kf.home.url.path, 0o755) == 0 && chmod(path, 0o644) == 0)
            return (path, data)
        }

        @Test("Without access to the cache fetch works, and prefetch refuses")
        func unreadable() async throws {
            let (path, data) = try readable()
            #expect(try await kf.run("fetch", path).status == 0)
            let result = try await asNobody(["fetch", path, "-o", "-"])
            #expect(result.status == 0 && result.standardOutput == data, "\(result)")
            #expect(result.errorLines.count == 1 && result.errors.contains("Permission denied"), "\(result)")
            let list = try kf.home.write("list", path + "\n").path
            #expect(chmod(list, 0o644) == 0)
            #expect(try await asNobody(["prefetch", "--allow-local", list]).status == 3)
        }

        @Test("Another user's cache is refused unless it is trusted")
        func foreign() async throws {
            let (path, data) = try readable()
            #expect(try await kf.run("fetch", path).status == 0)
            #expect(try await Tool.run("chmod", "-R", "a+rX", kf.cacheDirectory.path).status == 0)
            let refused = try await asNobody(["fetch", path, "-o", "-"])
            #expect(refused.status == 3 && refused.standardOutput.isEmpty, "\(refused)")
            #expect(refused.errors.contains("chown -R 65534"), "\(refused)")
            let trusted = try await asNobody(
                ["fetch", "--only-from-cache", path, "-o", "-"], ["KF_TRUST_CACHE_DIR": "1"])
            #expect(trusted.status == 0 && trusted.standardOutput == data, "\(trusted)")
        }
    }
}
