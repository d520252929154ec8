import Foundation
import Support
import Testing

/// What several items of a run, and several images of an item, say of one URL.
extension EndToEnd.LockTests {
    /// Writes `list.csv` with two items of one URL, whose headers bring other bytes. Returns their server.
    private func listTwo() throws -> FaultServer {
        let bytes = try Self.forms.map { try FixturesDirectory.bytes("png/\($0).png") }
        let origin = try FaultServer { request in
            [.reply(headers: ["Vary: X-Form"], body: bytes[request.header("X-Form") == "1" ? 1 : 0])]
        }
        try kf.home.write(
            "list.csv", "url,headers\n" + (0...1).map { "\(origin.url("/b.png")),X-Form: \($0)\n" }.joined())
        return origin
    }

    private static let forms = ["rgb", "rgba"]
    private static let command = [
        "prefetch", "list.csv", "--headers-column", "headers", "--lock", "images.lock", "--cache-policy", "http",
    ]

    @Test("Items of one URL with other bytes are a mismatch", arguments: [[], ["--update-lock"]])
    func sameURL(options: [String]) async throws {
        let origin = try listTwo()
        let outputs = ["-P", "out", "--failures", "failed.csv", "--on-failure", FixturesDirectory.path("png/grey.png")]
        let run = try await kf.run(Self.command + options + outputs + ["--json"])
        let failure = try #require(try run.items().compactMap(\.error).first, "\(run)")
        // What arrives first is locked.
        let later = try Self.forms.map(hash)[0] == failure.found ? 0 : 1
        let first = Self.forms[1 - later]
        #expect(try failure.expected == hash(first) && failure.found == hash(Self.forms[later]), "\(failure)")
        let summary = try #require(try run.objects().last)
        #expect(run.status == 1 && failure.code == 2011 && summary["failed"] as? Int == 1, "\(run)")
        let counts = try #require(summary["lock"] as? [String: Any])
        #expect(counts["new"] as? Int == 1 && counts["changed"] as? Int == 1, "\(counts)")
        let picture = try FixturesDirectory.named("png/\(first).png").data
        #expect(try lock == "# kf images.lock 1\n\(origin.url("/b.png")) \(hash(first)) \(picture.count)\n")
        let failed = try kf.text("failed.csv")
        #expect(failed.contains("X-Form: \(later)") && !failed.contains("X-Form: \(1 - later)"), "\(failed)")
        let copies = TemporaryDirectory.files(in: kf.home.path("out"))
        #expect(try copies.map { try kf.contents("out/\($0)") } == [picture])
    }

    @Test("An update compares the items of one URL whatever was locked", arguments: ["rgb", "rgba", "grey"])
    func updatedURL(old: String) async throws {
        let origin = try listTwo()
        try kf.home.write("images.lock", "# kf images.lock 1\n\(origin.url("/b.png")) \(hash(old)) -\n")
        let run = try await kf.run(Self.command + ["--update-lock"])
        let first = try #require(try Self.forms.first { try lock.contains(hash($0)) })
        let counts = old == first ? "0 replaced, 1 changed, 1 as locked" : "1 replaced, 1 changed, 0 as locked"
        #expect(run.status == 1 && run.errors.contains("0 new, " + counts), "\(run)")
        #expect(try run.errors.contains("expected \(hash(first)), got "), "\(run)")
    }

    @Test("One image of an item locks the original", arguments: [["a", "b"], ["b", "a"]])
    func failingVariant(order: [String]) async throws {
        try kf.home.write("list.txt", server.url("/b.png"))
        let variants = ["a": "a=watermark:\(server.url("/missing.png"))", "b": "b=flip:h"]
        let options = order.flatMap { ["--variant", variants[$0] ?? ""] }
        let command = ["prefetch", "list.txt", "-P", "out", "--lock", "images.lock", "--retry", "0"] + options
        let run = try await kf.run(command)
        #expect(run.status == 1 && run.errors.contains("1 new, 0 changed, 0 as locked"), "\(run)")
        #expect(TemporaryDirectory.files(in: kf.home.path("out")) == ["b-b.png"])
        #expect(try lock == "# kf images.lock 1\n" + line("/b.png", "rgb"))
        pictures["/b.png"] = "rgba"
        let update = try await kf.run(command + ["--update-lock"])
        #expect(update.status == 1 && update.errors.contains("0 new, 1 replaced, 0 as locked"), "\(update)")
        #expect(try lock == "# kf images.lock 1\n" + line("/b.png", "rgba"))
    }
}
