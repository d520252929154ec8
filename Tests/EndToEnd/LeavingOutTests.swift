import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Images that are left out")
    struct LeavingOutTests {
        private let kf: KFCommand
        private let server: FaultServer

        init() throws {
            kf = try KFCommand()
            server = try FaultServer { request in
                let path = String(request.path.prefix { $0 != "?" })
                let headers = request.path.split(separator: "?").dropFirst().map {
                    String($0).replacing("=", with: ": ").replacing("+", with: " ")
                }
                if path == "/to" { return [.reply("302 Found", headers: ["Location: /20x20"] + headers)] }
                guard let size = try? Picture(path) else { return [.reply("404 Not Found", headers: headers)] }
                guard size.padding > 1 << 20 else { return [.reply(headers: headers, body: size.bytes)] }
                // Of a long body, only the first bytes come.
                let head = ["HTTP/1.1 200 OK"] + headers + ["Content-Length: \(size.bytes.count)", "", ""]
                return [.text(head.joined(separator: "\r\n")), .send(Array(size.bytes.prefix(4096))), .hold]
            }
        }

        private func prefetch(_ paths: [String], _ options: String...) async throws -> CommandResult {
            try await prefetch(paths, with: options)
        }

        private func prefetch(_ paths: [String], with options: [String]) async throws -> CommandResult {
            let list = Data(paths.map { server.url($0) }.joined(separator: "\n").utf8)
            return try await kf.run(["prefetch", "--retry", "0"] + options, input: list)
        }

        private func statuses(_ result: CommandResult) throws -> [String: String] {
            Dictionary(try result.items().map { (String($0.source.dropFirst(server.url("").count)), $0.status) }) {
                first, _ in first
            }
        }

        @Test("Each filter leaves out what it names")
        func filters() async throws {
            let paths = ["/300x300", "/64x64", "/1000x120", "/120x1000", "/gone"]
            for (options, left) in [
                (["--min-size", "100x100"], ["/64x64"]), (["--min-size", "200x"], ["/64x64", "/120x1000"]),
                (["--min-size", "x200"], ["/64x64", "/1000x120"]),
                (["--max-aspect", "2.5"], ["/1000x120", "/120x1000"]),
                (["--min-bytes", "5K"], ["/64x64"]), (["--formats", "jpg,webp"], Array(paths.dropLast())),
                (["--formats", "png"], []),
            ] {
                let kf = try KFCommand()
                let list = Data(paths.map { server.url($0) }.joined(separator: "\n").utf8)
                for _ in 0..<2 {
                    let result = try await kf.run(
                        ["prefetch", "--retry", "0", "--json", "--failures", "failed"] + options, input: list)
                    let statuses = try statuses(result)
                    #expect(
                        Set(statuses.filter { $0.value == "filtered" }.keys) == Set(left), "\(options): \(statuses)")
                    #expect(statuses["/gone"] == "failed" && result.status == 1)
                    #expect(try result.objects().last?["filtered"] as? Int == left.count)
                    #expect(try kf.text("failed") == server.url("/gone") + "\n")
                }
                #expect(Set(kf.cachedObjects().filter { $0.hasSuffix(".png") }).count == 4 - left.count)
            }
        }

        @Test("A long body is cut off after its first bytes")
        func cutOff() async throws {
            let result = try await prefetch(["/20x20,9000000", "/20x20,8000000"], "--min-size", "100x100", "--json")
            #expect(try statuses(result).values.allSatisfy { $0 == "filtered" } && result.status == 0, "\(result)")
            let bytes = try await prefetch(["/300x300,5000000"], "--min-bytes", "10M", "--json")
            #expect(try bytes.item().status == "filtered" && bytes.status == 0, "\(bytes)")
            #expect(
                kf.leftovers().isEmpty && kf.cachedObjects().allSatisfy { $0.hasSuffix(".none") },
                "\(kf.cachedObjects())")
        }

        @Test("What was measured is remembered and judged by other filters")
        func remembered() async throws {
            let paths = ["/64x64", "/300x300"]
            _ = try await prefetch(paths, "--min-size", "100x100")
            #expect(server.requests.count == 2)
            let other = try await prefetch(paths, "--max-aspect", "3", "--min-size", "65x", "--json")
            #expect(try statuses(other) == ["/64x64": "filtered", "/300x300": "cached"] && server.requests.count == 2)
            let row = try #require(try other.objects().first { $0["status"] as? String == "filtered" })
            #expect(row["left_out"] as? String == "64×64 pixels, not at least 65×" && row["error"] is NSNull)
            // The way through the results, and that of variants.
            _ = try await prefetch(["/64x64"], "--min-size", "65x", "--output-dir", "out")
            _ = try await prefetch(
                ["/64x64"], "--min-size", "65x", "--variant", "a=resize:9x", "--variant", "b=resize:8x")
            let fetch = try await kf.run("fetch", server.url("/64x64"), "--min-size", "65x", "-o", "x.png")
            #expect(fetch.status == 0 && fetch.errors.contains("filtered: 64×64 pixels"), "\(fetch)")
            #expect(server.requests.count == 2 && !FileManager.default.fileExists(atPath: kf.home.path("x.png").path))
            #expect(try await prefetch(["/64x64"], "--min-size", "65x", "--retry-failed").status == 0)
            #expect(server.requests.count == 3)
            // A filter that accepts it asks for it, and so does a run without one.
            #expect(try await prefetch(["/64x64"], "--min-size", "64x64", "--json").item().status == "fetched")
            #expect(server.requests.count == 4)
            #expect(try await prefetch(["/64x64"], "--json").item().status == "cached")
            // The image is cached now, and is judged.
            #expect(try await prefetch(["/64x64"], "--min-size", "65x", "--json").item().status == "filtered")
            #expect(server.requests.count == 4)
        }

        @Test("A processed image is judged by its original")
        func processed() async throws {
            let resize = ["-p", "resize:10x10", "--store", "processed"]
            for path in ["/64x64", "/300x300"] {
                #expect(try await kf.run(["fetch", server.url(path)] + resize).status == 0)
                let judged = try await kf.run(["fetch", server.url(path), "--json", "--min-size", "100x"] + resize)
                #expect(try judged.item().status == (path == "/64x64" ? "filtered" : "disk"), "\(judged)")
            }
            #expect(server.requests.count == 2)
        }

        @Test("Local files are judged, and failures have no image in their place")
        func local() async throws {
            try kf.home.write("small.png", Data(try Picture("/20x20").bytes))
            try kf.home.write("page.png", "<html>")
            try kf.home.write("list", "small.png\npage.png\n")
            let result = try await kf.run(
                "prefetch", "list", "--allow-local", "--min-size", "30x30", "--json", "--output-dir", "out",
                "--on-failure", "small.png")
            #expect(
                try result.items().map(\.status).sorted() == ["failed", "filtered"] && result.status == 1, "\(result)")
            #expect(TemporaryDirectory.files(in: kf.home.path("out")) == ["page.png"])
        }

        @Test("Neither alternatives nor mirrors replace an image that was left out")
        func alternatives() async throws {
            let result = try await kf.run(
                "fetch", server.url("/64x64"), "--alternative", server.url("/300x300"), "--mirror",
                "\(server.url("/"))=\(server.url("/"))", "--min-size", "100x", "--json")
            #expect(try result.item().status == "filtered" && server.requests.count == 1, "\(result)")
        }

        @Test("Responses that opt out are not received")
        func optOut() async throws {
            let left = [
                "/300x300,9000000?X-Robots-Tag=noai", "/300x300?X-Robots-Tag=nofollow,+NoImageAI",
                "/300x300?X-Robots-Tag=nofollow?X-Robots-Tag=noindex", "/301x300?TDM-Reservation=1",
                "/300x300?X-Robots-Tag=bot:+nofollow,+noindex", "/to?X-Robots-Tag=noimageindex",
            ]
            let fine = ["/302x300?X-Robots-Tag=other:+noai", "/to", "/303x300?TDM-Reservation=0"]
            let options = ["--respect-opt-out=Bot", "--json"]
            let list = Data(
                (left + fine + ["/gone?X-Robots-Tag=noindex"]).map { server.url($0) }.joined(separator: "\n").utf8)
            for _ in 0..<2 {
                let result = try await kf.run(["prefetch", "--retry", "0"] + options, input: list)
                let statuses = try statuses(result)
                #expect(Set(statuses.filter { $0.value == "opted_out" }.keys) == Set(left), "\(result)")
                #expect(statuses["/gone?X-Robots-Tag=noindex"] == "failed" && result.status == 1)
                #expect(try result.objects().last?["opted_out"] as? Int == left.count)
                let first = try #require(
                    try result.objects().first { ($0["source"] as? String)?.hasSuffix(left[0]) == true })
                #expect(first["left_out"] as? String == "X-Robots-Tag: noai")
                #expect(server.requests.count == left.count + fine.count + 2)
            }
            // For all agents alone, the fifth does not count.
            #expect(try await prefetch([left[4]], "--respect-opt-out", "--json").item().status == "fetched")
            let always = kf.with(["KF_RESPECT_OPT_OUT": "1"])
            #expect(try await always.run("fetch", server.url(left[3]), "--json").item().status == "opted_out")
            let bot = kf.with(["KF_RESPECT_OPT_OUT": "Bot"])
            let forBot = try await bot.run("fetch", server.url(left[4]), "--force-refresh", "--json")
            #expect(try forBot.item().status == "opted_out")
            try kf.home.write(".config/kf/config", "respect-opt-out\n")
            #expect(try await kf.run("fetch", server.url(left[3]), "--json").item().status == "opted_out")
            let off = try await always.run("fetch", server.url(left[2]), "--no-respect-opt-out", "--json")
            #expect(try off.item().status == "fetched")
            try kf.home.write(".config/kf/config", "")
            // Without the option it is fetched, and then the cache has it.
            #expect(try await prefetch([left[3]], "--json").item().status == "fetched")
            #expect(try await prefetch([left[3]], "--respect-opt-out", "--json").item().status == "cached")
            let revalidated = try await prefetch([left[3]], "--respect-opt-out", "--revalidate", "--json")
            #expect(try revalidated.item().status == "opted_out")
        }

        /// Fills the cache with an image, with what is remembered of a filtered one and of one that opts out, and with one that is
        /// accepted by the filters, which are returned.
        private func fill() async throws -> (filters: [String], left: [String]) {
            let filters = ["--min-size", "100x100", "--respect-opt-out"]
            let left = ["/64x64", "/65x65", "/301x300?TDM-Reservation=1"]
            _ = try await prefetch([left[0]])
            _ = try await prefetch(Array(left[1...]) + ["/300x300"], with: filters)
            return (filters, left)
        }

        @Test("A dry run names images that a run leaves out")
        func dryRun() async throws {
            let (filters, left) = try await fill()
            let paths = left + ["/300x300", "/new"]
            let states = Dictionary(uniqueKeysWithValues: left.map { ($0, "left_out") })
                .merging(["/300x300": "hit", "/new": "missing"]) { $1 }
            let asked = server.requests.count
            for options in [[], ["-p", "resize:9x9"], ["--variant", "a=resize:9x", "--variant", "b=resize:8x"]] {
                let run = try await prefetch(paths, with: filters + options + ["--dry-run", "--json"])
                #expect(try statuses(run) == states, "\(options): \(run)")
                let objects = try run.objects()
                #expect(objects.first?["next"] as? String == "leave_out" && objects.last?["left_out"] as? Int == 3)
                #expect(options != [] || objects.first?["path"] as? String != nil)
            }
            let text = try await prefetch(paths, with: filters + ["--dry-run"])
            #expect(text.output.hasPrefix("left_out\t\(server.url("/64x64"))\n"), "\(text)")
            #expect(text.errorLines.last == "kf: 1 hit, 0 stale, 1 missing, 0 invalid, 3 left out")
            let plain = try await prefetch(paths, "--dry-run", "--json")
            #expect(Set(try statuses(plain).values) == ["hit", "missing"] && server.requests.count == asked)
            // The run does what was announced.
            let run = try await prefetch(Array(paths.dropLast()), with: filters + ["--json"])
            #expect(try statuses(run).values.sorted() == ["cached", "filtered", "filtered", "opted_out"])
            #expect(server.requests.count == asked)
        }

        @Test("Listings and explanations say what was left out")
        func explained() async throws {
            let (filters, left) = try await fill()
            let asked = server.requests.count
            for path in left {
                let url = server.url(path)
                let object = try #require(
                    try await kf.run(["cache", "explain", url, "--json"] + filters).objects().first)
                #expect(object["next"] as? String == "leave_out", "\(object)")
                let fetch = try await kf.run(["fetch", url, "--json"] + filters).objects().first
                let reasons = object["reasons"] as? [String]
                #expect(reasons?.last == fetch?["left_out"] as? String, "\(object)")
            }
            let text = try await kf.run(["cache", "explain", server.url("/65x65")] + filters)
            #expect(text.output.contains("  no image: left out, expires in 7d\n"), "\(text)")
            #expect(
                text.output.contains("  the next fetch leaves the image out\n")
                    && text.output.contains("65×65 pixels, not at least 100×100\n"), "\(text)")
            let accepted = try await kf.run("cache", "explain", server.url("/65x65"), "--min-size", "9x9")
            #expect(
                accepted.output.contains("downloads the image")
                    && accepted.output.contains("what left it out before does not count"), "\(accepted)")
            let list = try await kf.run("cache", "ls")
            #expect(list.outputLines.count { $0.hasSuffix(" (left out)") } == 2, "\(list)")
            let entries = try await kf.run("cache", "ls", "--json").objects()
            #expect(entries.count == 4 && entries.count { $0["left_out"] as? Bool == true } == 2, "\(entries)")
            #expect(server.requests.count == asked)
        }

        @Test("The summary of several fetched sources counts those left out")
        func fetchSummary() async throws {
            let (filters, left) = try await fill()
            let urls = (left + ["/300x300", "/63x63"]).map { server.url($0) }
            let variants = ["--variant", "a=resize:9x", "--variant", "b=resize:8x"]
            for options in [[], variants] {
                let json = try await kf.run(["fetch", "--json"] + urls + filters + options).objects().last
                #expect(json?["filtered"] as? Int == 3 && json?["opted_out"] as? Int == 1, "\(json ?? [:])")
            }
            let text = try await kf.run(["fetch"] + urls + filters)
            #expect(text.errorLines.last == "kf: 5 sources: 3 filtered, 1 opted out" && text.status == 0, "\(text)")
            #expect(try await kf.run(["fetch", "-q"] + urls + filters).errors.isEmpty)
            #expect(try await kf.run(["fetch", urls[0]] + filters).errorLines.count == 1)
        }

        @Test("Each variant of a left-out source has a row with its key")
        func rows() async throws {
            let url = server.url("/300x200")
            for _ in 0..<2 {
                let run = try await kf.run("fetch", url, "--widths", "8,24", "--max-aspect", "1.1", "--json", "-P", "o")
                let items = try run.items()
                #expect(items.map(\.status) == ["filtered", "filtered"], "\(run)")
                #expect(items.map(\.key) == [url, url], "\(run)")
            }
        }

        @Test(
            "Mistakes in the options are refused",
            arguments: [
                ["--min-size", "10"], ["--min-size", "x"], ["--min-size", "0x5"], ["--min-size", "1x2x3"],
                ["--max-aspect", "0.5"], ["--formats", "jpeg,"], ["--formats", "exe"], ["--respect-opt-out="],
            ])
        func mistakes(_ options: [String]) async throws {
            let result = try await kf.run(["fetch", "x.png"] + options)
            #expect(result.status == 2 && result.errorLines.count == 1, "\(result)")
        }
    }
}

/// A grey PNG of a size that its path says, `/WxH` or `/WxH,PADDING`.
struct Picture {
    let width: Int
    let height: Int
    /// The size of a chunk behind the header.
    let padding: Int

    struct NoPicture: Error {}

    init(_ path: String) throws {
        let numbers = path.dropFirst().split { $0 == "x" || $0 == "," }.map { Int($0) }
        guard numbers.count >= 2, let width = numbers[0], let height = numbers[1] else { throw NoPicture() }
        (self.width, self.height) = (width, height)
        padding = numbers.count > 2 ? numbers[2] ?? 0 : 0
    }

    var bytes: [UInt8] {
        func bigEndian(_ number: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }
        var adler = (low: 1, high: 0)
        let rows = [UInt8](repeating: 0, count: (width + 1) * height)
        // Stored blocks of zlib, of at most 65,535 bytes.
        var data: [UInt8] = [0x78, 0x01]
        for start in stride(from: 0, to: rows.count, by: 65_535) {
            let count = min(65_535, rows.count - start)
            let length = [UInt8(count & 0xff), UInt8(count >> 8)]
            data += [start + count == rows.count ? 1 : 0] + length + length.map { ~$0 } + rows[start..<start + count]
        }
        adler.high = rows.count % 65_521
        data += bigEndian(adler.high << 16 | adler.low)
        return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
            + PNGChunk.bytes("IHDR", bigEndian(width) + bigEndian(height) + [8, 0, 0, 0, 0])
            + (padding > 0 ? PNGChunk.bytes("tEXt", Array("a\0".utf8) + [UInt8](repeating: 0x20, count: padding)) : [])
            + PNGChunk.bytes("IDAT", data) + PNGChunk.bytes("IEND", [])
    }
}
