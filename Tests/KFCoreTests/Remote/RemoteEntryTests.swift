import KFImaging
import KFStorage
import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFRemote

@Suite("Entries of a remote")
struct RemoteEntryTests {
    private static let key = EntryKey(key: "http://h/a.png")
    private static let name = "87f5558dbbee8148d47f3a1bda92a86f58dce83c061b50d801f60ec6cd8333b5"
    private static let object = String(repeating: "0123456789abcdef", count: 4)
    private static let required = [
        "version": "1", "name": "\"\(name)\"", "sha256": "\"\(object)\"", "bytes": "70", "format": "\"png\"",
        "stored": "1700000000000", "extend": "\"cache-time\"",
    ]

    /// Parses an entry with some members changed; nil leaves a member out.
    private func parsed(_ changes: [String: String?] = [:]) -> RemoteEntry? {
        var members: [String: String] = Self.required
        for (name, value) in changes { members[name] = value }
        let text = members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        return RemoteEntry(Array("{\(text)}".utf8), name: Self.name)
    }

    // Computed by sha256sum.
    @Test("An entry's name is a hash of key and identifier")
    func names() {
        #expect(RemoteEntry.name(of: Self.key) == Self.name)
        #expect(
            RemoteEntry.name(of: EntryKey(key: "https://b.example/i.jpg?sig=S3CRET", identifier: "resize:20x10"))
                == "cc17c59d6c0533914ed47db3f157452781e4405179411fccdb5d07b00804e11f")
    }

    @Test("Every field survives a round trip through JSON")
    func roundTrip() throws {
        var entry = try #require(parsed())
        entry.pixels = PixelFacts(width: 3, height: 5, frames: 7)
        entry.expires = Timestamp(milliseconds: 1_700_000_060_000)
        entry.timeToLive = 60_000
        entry.etag = "W/\"a\\b\t\u{e9}\""
        entry.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
        entry.freshness = "cache-control: max-age=60\nvary: accept\nkf-vary: 0011"
        entry.original = Digest(hex: String(Self.object.reversed()))
        let extendings: [ExpirationExtending] = [
            .none, .cacheTime, .expirationTime(.never), .expirationTime(.seconds(90)),
            .expirationTime(.seconds(0.25)),
        ]
        for extending in extendings {
            entry.extending = extending
            #expect(RemoteEntry(entry.json, name: Self.name) == entry)
            #expect(entry.json.last == 0x0a && entry.json.count { $0 == 0x0a } == 1)
        }
        entry.expires = .distantFuture
        entry.timeToLive = nil
        (entry.pixels, entry.etag, entry.lastModified, entry.freshness, entry.original) = (nil, nil, nil, nil, nil)
        #expect(RemoteEntry(entry.json, name: Self.name) == entry)
    }

    @Test("Days are written as milliseconds")
    func days() throws {
        var entry = try #require(parsed())
        entry.extending = .expirationTime(.days(2))
        let text = String(decoding: entry.json, as: UTF8.self)
        #expect(text.contains("\"extend\":172800000"))
        #expect(RemoteEntry(entry.json, name: Self.name)?.extending == .expirationTime(.seconds(172_800)))
    }

    @Test("Unknown members are kept")
    func unknown() throws {
        let later = """
            {"a":[1,-2.5e3,null,true,false,"\\u0001\\n\\"\\\\ß"],"b":{"c":{}}}
            """
        let entry = try #require(parsed(["later": later, "signature": "\"x\""]))
        #expect(entry.unknown.map(\.name) == ["later", "signature"])
        let again = try #require(RemoteEntry(entry.json, name: Self.name))
        #expect(again == entry)
        #expect(again.json == entry.json)
        let text = String(decoding: entry.json, as: UTF8.self)
        #expect(text.contains("\"b\":{\"c\":{}}") && text.contains("-2.5e3") && text.contains("\\u0001\\n"))
    }

    @Test("An entry of more than 16 KiB is refused")
    func size() throws {
        var entry = try #require(parsed())
        let empty = entry.json.count
        entry.unknown = [StrictJSON.Member(name: "x", value: .string(""))]
        let overhead = entry.json.count - empty
        for (excess, isEntry) in [(0, true), (1, false)] {
            let filler = String(repeating: "y", count: (16 << 10) - empty - overhead + excess)
            entry.unknown = [StrictJSON.Member(name: "x", value: .string(filler))]
            #expect(entry.json.count == (16 << 10) + excess)
            #expect((RemoteEntry(entry.json, name: Self.name) != nil) == isEntry)
        }
    }

    @Test("An entry needs only its required members")
    func least() throws {
        let entry = try #require(parsed())
        #expect(entry.expires == .distantFuture && entry.timeToLive == nil && entry.pixels == nil)
        #expect(entry.unknown.isEmpty && entry.original == nil && entry.size == 70)
        for name in Self.required.keys { #expect(parsed([name: nil]) == nil, "without \(name)") }
    }

    @Test(
        "A wrong member makes an entry invalid",
        arguments: [
            ("version", "2"), ("version", "\"1\""), ("version", "1.0"), ("version", "0"),
            ("name", "\"cc17c59d6c0533914ed47db3f157452781e4405179411fccdb5d07b00804e11f\""), ("name", "1"),
            ("name", "\"87F5558DBBEE8148D47F3A1BDA92A86F58DCE83C061B50D801F60EC6CD8333B5\""),
            ("sha256", "\"0123\""), ("sha256", "\"\(object.uppercased())\""), ("sha256", "null"),
            ("sha256", "\"\(object)0\""), ("sha256", "\"../\(object.dropFirst(3))\""),
            ("bytes", "-1"), ("bytes", "1.5"), ("bytes", "\"70\""), ("bytes", "99999999999999999999"),
            ("bytes", "9223372036854775807"), ("bytes", "1e2"),
            ("format", "\"exe\""), ("format", "7"), ("format", "\"no-image\""), ("format", "\"../png\""),
            ("stored", "\"now\""), ("stored", "[]"),
            ("expires", "\"never\""), ("expires", "1700000000000.5"), ("expires", "99999999999999999999"),
            ("ttl", "\"60\""), ("ttl", "{}"), ("ttl", "1e3"), ("width", "\"1\""), ("frames", "1.5"),
            ("extend", "\"always\""), ("extend", "null"), ("extend", "1.5"), ("extend", "true"),
            ("etag", "\"a\\nb\""), ("etag", "\"a\\r\""), ("etag", "\"\\u0000\""), ("etag", "\"\\u007f\""),
            ("etag", "1"), ("last_modified", "\"a\\nX-Y: z\""), ("last_modified", "[]"),
            ("headers", "\"a: b\\r\\nc: d\""), ("headers", "\"a: \\u001b[31m\""), ("headers", "{}"),
            ("original_sha256", "\"12\""), ("original_sha256", "12"),
            ("original_sha256", "\"\(object.uppercased())\""),
        ])
    func wrong(_ member: String, _ value: String) {
        #expect(parsed([member: value]) == nil)
    }

    @Test(
        "Text other than one JSON object is refused",
        arguments: ["", "null", "[]", "{}", "{", "\u{feff}{}", "{}{}", "<html>", String(repeating: "[", count: 16_000)])
    func notAnObject(_ text: String) {
        #expect(RemoteEntry(Array(text.utf8), name: Self.name) == nil)
        #expect(RemoteEntry(Array(text.utf8) + [0xff, 0], name: Self.name) == nil)
    }

    @Test("A header value of more than 8 KiB is refused")
    func longHeaders() {
        let long = String(repeating: "x", count: 8192)
        #expect(parsed(["etag": "\"\(long)\""])?.etag?.count == 8192)
        #expect(parsed(["etag": "\"\(long)x\""]) == nil)
        #expect(parsed(["headers": "\"a: \(long)\""]) == nil)
    }

    @Test(
        "Impossible pixel sizes are left out",
        arguments: [("width", "0"), ("height", "-1"), ("frames", "2147483648")])
    func pixels(_ member: String, _ value: String) throws {
        let pixels: [String: String?] = ["width": "3", "height": "5", "frames": "7"]
        #expect(parsed(pixels)?.pixels == PixelFacts(width: 3, height: 5, frames: 7))
        #expect(try #require(parsed(pixels.merging([member: value]) { $1 })).pixels == nil)
    }

    @Test("An entry expires by its time to live")
    func expired() throws {
        var entry = try #require(parsed())
        let now = Timestamp(milliseconds: 1_700_000_000_000)
        #expect(!entry.isExpired(at: now))
        entry.timeToLive = 1000
        for (span, isExpired) in [(-1, true), (0, true), (1, false), (86_401_000, false), (86_401_001, true)] {
            entry.expires = now.advanced(by: Int64(span))
            #expect(entry.isExpired(at: now) == isExpired, "\(span)")
        }
        entry.extending = .expirationTime(.seconds(5))
        #expect(!entry.isExpired(at: now))
    }

    @Test(
        "Extreme times do not overflow",
        arguments: [
            ("expires", "-9223372036854775808"), ("expires", "9223372036854775806"), ("ttl", "-9223372036854775808"),
            ("ttl", "9223372036854775807"), ("stored", "-9223372036854775808"), ("stored", "9223372036854775807"),
            ("extend", "9223372036854775807"), ("extend", "-9223372036854775808"),
        ])
    func limits(_ member: String, _ value: String) throws {
        for expires in ["1700000000000", "9223372036854775806", "-9223372036854775808"] {
            var members: [String: String?] = ["expires": expires, "ttl": "1000"]
            members[member] = value
            let entry = try #require(parsed(members))
            #expect(entry.isExpired(at: .now()) || entry.expires > .now())
            #expect(RemoteEntry(entry.json, name: Self.name) != nil)
        }
    }
}
