import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Untrusted lists")
    final class StrangerListTests: UnretriedSuite {
        private var grey: String { server.url("png/grey.png") }

        @Test("A shared key counts only with --key-column")
        func sharedKey() async throws {
            let rows = (0..<6).map { "\(grey)?\($0),shoes" }
            try kf.home.write("p.csv", (["url,key"] + rows).joined(separator: "\n") + "\n")
            let plain = try await kf.run("prefetch", "p.csv")
            #expect(plain.status == 0, "\(plain)")
            #expect(try await kf.run("cache", "ls").outputLines.count == 6)
            let named = try await kf.run("prefetch", "p.csv", "--key-column", "key", "--json")
            #expect(Set(try named.items().compactMap(\.key)) == ["shoes"], "\(named)")
            #expect(try await kf.run("cache", "path", "--key", "shoes").status == 0)
        }

        @Test("A list cannot store an image under another URL")
        func planting() async throws {
            let bank = server.url("png/rgb.png")
            let list = Data("{\"url\":\"\(grey)\",\"key\":\"\(bank)\"}\n".utf8)
            let options = ["prefetch", "-", "--input-format", "jsonl", "--json"]
            #expect(try await kf.run(options, input: list).item().key == grey)
            let planted = try await kf.run(options + ["--key-column", "key"], input: list).item()
            #expect(planted.key == "key:\(bank)" && planted.error == nil)
            #expect(try await kf.run("fetch", bank, "--only-from-cache").status == 1)
            #expect(try await kf.run("cache", "path", bank).status == 1)
            let honest = try await kf.run("fetch", bank, "--json").item()
            #expect(honest.key == bank && honest.sha256 != planted.sha256)
            // The user finds and removes what was kept under the given key, and only that.
            #expect(try await kf.run("cache", "path", "--key", bank).printedPath == planted.path)
            let explained = try await kf.run("cache", "explain", "--key", bank, "--json").objects().first
            #expect(explained?["key"] as? String == "key:\(bank)")
            #expect(try await kf.run("cache", "ls", "key:\(bank)").outputLines.count == 1)
            #expect(try await kf.run("cache", "rm", "--key", bank).status == 0)
            #expect(try await kf.run("cache", "path", "--key", bank).status == 1)
            #expect(try await kf.run("cache", "path", bank).status == 0)
        }

        @Test("A key cannot take the place of a URL")
        func givenKey() async throws {
            let bank = server.url("png/rgb.png")
            let given = try await kf.run("fetch", grey, "--key", bank, "--json").item()
            #expect(given.key == "key:\(bank)")
            #expect(try await kf.run("fetch", bank, "--only-from-cache").status == 1)
            #expect(try await kf.run("fetch", grey, "--key", bank, "--json").item().status == "disk")
            #expect(try await kf.run("fetch", grey, "--key", "logo", "--json").item().key == "logo")
            // A file of that name does not stand in the way of a key.
            try kf.home.write("logo", "x")
            #expect(try await kf.run("cache", "rm", "--key", "logo").status == 0)
            #expect(try await kf.run("cache", "path", "--key", "logo").status == 1)
        }

        @Test("Columns are found by name or number in every format")
        func columns() async throws {
            let columns = ["--key-column", "k", "--name-column", "n", "--process-column", "p", "--headers-column", "h"]
            try kf.home.write("a.csv", "url,k,n,p,h\n\(grey),one,first,resize:7x5,User-Agent: robot\n")
            try kf.home.write("b.tsv", "url\tk\tn\tp\th\n\(grey)\ttwo\tsecond\tresize:7x5\tUser-Agent: robot\n")
            try kf.home.write(
                "c.jsonl",
                #"{"url":"\#(grey)","k":"three","n":"third","p":"resize:7x5","h":{"User-Agent":"robot"}}"# + "\n")
            for (file, key, name) in [
                ("a.csv", "one", "first"), ("b.tsv", "two", "second"), ("c.jsonl", "three", "third"),
            ] {
                let options = ["prefetch", file, "--json", "--output-dir", "out", "--name", "{stem}.{ext}"] + columns
                let result = try await kf.run(options)
                let item = try result.item()
                #expect(item.key == key && item.width == 7 && item.output == "out/\(name).png", "\(result)")
                #expect(try await kf.run(options).item().status == "cached")
            }
            #expect(try await server.requests().map(\.userAgent) == ["robot", "robot", "robot"])
            try kf.home.write("d.csv", "\(grey),four\n")
            let numbered = try await kf.run("prefetch", "d.csv", "--url-column", "1", "--key-column", "2", "--json")
            #expect(try numbered.item().key == "four", "\(numbered)")
            let missing = try await kf.run("prefetch", "a.csv", "--key-column", "sku")
            #expect(missing.status != 0 && missing.errors.contains("no column 'sku'"), "\(missing)")
        }

        @Test("Headers in a list cannot inject lines or hosts")
        func headers() async throws {
            let list = """
                {"url":"\(grey)?1","headers":{"X-A":"b\\r\\nX-Evil: 1"}}
                {"url":"\(grey)?2","headers":{"Host":"bank.example"}}
                {"url":"\(grey)?3","headers":{"X-A\\r\\nX-Evil":"1"}}
                {"url":"\(grey)?4","headers":{"X-A":"b"}}
                """
            let result = try await kf.run(
                "prefetch", "-", "--input-format", "jsonl", "--headers-column", "headers", "--json",
                input: Data(list.utf8))
            #expect(result.status == 1, "\(result)")
            #expect(try result.items().map { $0.error == nil }.filter { $0 }.count == 1, "\(result)")
            #expect(try await server.requests().map(\.path) == ["/png/grey.png?4"])
        }

        @Test("A compressed bomb is read in bounded memory", arguments: ListBomb.all)
        func bombs(bomb: ListBomb) async throws {
            try kf.home.write("list", Data(bomb.head.utf8))
            let script = """
                exec 3>>list; for i in $(seq \(bomb.count)); do printf '%s' "$1"; done >&3; printf '\\n' >&3
                gzip -1 -c list > '\(bomb.name).gz'; rm list
                """
            let piece = String(repeating: bomb.piece, count: (100 << 10) / bomb.piece.utf8.count)
            let made = try await Tool.run("bash", "-c", script, "bash", piece, in: kf.home.url)
            try #require(made.status == 0, "\(made)")
            let small = try await kf.run("prefetch", "-q", "-", input: Data("a\n".utf8))
            let result = try await kf.run(
                ["prefetch", "-q", "\(bomb.name).gz", "--failures", "f"], timeout: .seconds(120))
            #expect(result.status <= 1, "\(result.status)")
            let growth = result.growth(over: small) >> 20
            #expect(growth < bomb.megabytes, "\(bomb.name): \(growth) MiB more than for one line")
        }
    }
}

/// A list that is small when packed.
struct ListBomb: Sendable, CustomTestStringConvertible {
    let name: String
    var head = ""
    let piece: String
    /// Pieces of some 100 KiB.
    var count = 80
    /// What reading it may take beside what reading one line takes.
    let megabytes: Int

    var testDescription: String { name }

    static let all = [
        ListBomb(name: "newlines.txt", piece: "\n", megabytes: 24),
        ListBomb(name: "short.txt", piece: "a\n", count: 3, megabytes: 24),
        ListBomb(name: "line.txt", piece: "x", count: 400, megabytes: 24),
        ListBomb(name: "quoted.csv", head: "url\n\"", piece: "x", count: 400, megabytes: 24),
        ListBomb(
            name: "quotedlines.csv", head: "url\n\"", piece: String(repeating: "x", count: 31) + "\n", count: 12,
            megabytes: 24),
        ListBomb(name: "field.tsv", head: "url\n\"", piece: "x\t", count: 80, megabytes: 24),
        ListBomb(
            name: "open.csv", head: "url\n", piece: String(repeating: "a", count: 27) + "\",\"\n", count: 12,
            megabytes: 24),
        ListBomb(name: "fields.csv", head: "url,b\n", piece: "a,", count: 10, megabytes: 24),
        ListBomb(name: "deep.jsonl", piece: "[", count: 400, megabytes: 24),
        ListBomb(name: "objects.jsonl", piece: "{\"a\":", count: 400, megabytes: 24),
        ListBomb(name: "array.jsonl", head: "{\"url\":\"http://h/a\",\"x\":[", piece: "[0],", count: 10, megabytes: 24),
    ]
}
