import Foundation
import Support
import Testing

@testable import KFCore
@testable import KFLists
@testable import KFStorage

@Suite("The lock of images")
struct ImageLockTests {
    private static let first = "# kf images.lock 1\n"

    private func image(_ text: String, _ bytes: Int64? = 5) throws -> ImageLock.Image {
        ImageLock.Image(
            hash: try #require(ContentHash(Array(text.utf8).withUnsafeBytes(SHA256.hash).hex)), bytes: bytes)
    }

    private func lock(_ text: String) throws -> ImageLock { try ImageLock(Array(text.utf8)) }

    private func merged(_ text: String, _ changes: [String: ImageLock.Change]) throws -> String {
        String(decoding: try ImageLock.merged(Array(text.utf8), changes), as: UTF8.self)
    }

    @Test("What was written is read")
    func roundTrip() throws {
        let changes = try (0..<1000).map {
            ("https://h/\($0).png", ImageLock.Change.add(try image("\($0)", Int64($0))))
        }
        let text = try merged("", Dictionary(uniqueKeysWithValues: changes))
        let lines = text.split(separator: "\n")
        #expect(lines.count == 1001 && lines.dropFirst().elementsEqual(lines.dropFirst().sorted()))
        let lock = try lock(text)
        #expect(lock.count == 1000)
        for number in [0, 1, 999] { #expect(try lock["https://h/\(number).png"] == image("\(number)", Int64(number))) }
        #expect(lock["https://h/1000.png"] == nil)
        #expect(try merged(text, [:]) == text)
        #expect(try self.lock("").count == 0 && self.lock("")["https://h/1.png"] == nil)
    }

    @Test("Comments and later fields are kept, and lines stay sorted")
    func kept() throws {
        let line = "https://h/b.png \(try image("b").hash) 5 by=hand x"
        let text = Self.first + "# ours\n\n# the logo\n\(line)\n# the end\n"
        #expect(try merged(text, ["https://h/b.png": .add(try image("other"))]) == text, "an image is added once")
        let updated = try merged(
            text, ["https://h/b.png": .replace(try image("c", nil)), "https://h/a.png": .add(try image("a"))])
        #expect(
            updated == Self.first + "# ours\n\n# the logo\n" + "https://h/a.png \(try image("a").hash) 5\n"
                + "https://h/b.png \(try image("c").hash) - by=hand x\n# the end\n")
        #expect(try lock(updated)["https://h/b.png"] == image("c", nil))
        let crlf = text.replacingOccurrences(of: "\n", with: "\r\n")
        #expect(try lock(crlf)["https://h/b.png"] == image("b"))
    }

    @Test("Lines that are not kept go")
    func pruned() throws {
        let text = Self.first + "http://h/a \(try image("a").hash) 5\nhttp://h/b \(try image("b").hash) 5\n"
        let kept = try ImageLock.merged(Array(text.utf8), [:]) { $0 != "http://h/a" }
        #expect(String(decoding: kept, as: UTF8.self) == Self.first + "http://h/b \(try image("b").hash) 5\n")
    }

    @Test("A damaged lock is refused with the number of its line")
    func damaged() throws {
        let hash = try image("a").hash.description
        let good = "http://h/a \(hash) 5\n"
        let texts: [(String, Int, String)] = [
            ("http://h/a \(hash) 5\n", 1, "begin with"), ("# kf images.lock 2\n", 1, "newer kf"),
            (Self.first + "http://h/a \(hash) 5", 2, "cut off"), (Self.first + good + "http://h/b\n", 3, "no hash"),
            (Self.first + "ftp://h/a \(hash) 5\n", 2, "URL"), (Self.first + "http://h/\u{e9} \(hash) 5\n", 2, "URL"),
            (Self.first + "http://h/a \(hash.dropLast(2))=5 5\n", 2, "hash"),
            (Self.first + "http://h/a sha256-\(String(repeating: "A", count: 42))B= 5\n", 2, "hash"),
            (Self.first + "http://h/a \(hash)\n", 2, "size"), (Self.first + "http://h/a \(hash) -5\n", 2, "size"),
            (Self.first + "http://h/a \(hash) 99999999999999999999\n", 2, "size"),
            (Self.first + "# x\n" + good + good, 4, "already"),
        ]
        for (text, line, word) in texts {
            let problem = #expect(throws: ImageLock.Problem.self, "\(text)") { try lock(text) }
            #expect(
                problem?.line == line && problem?.detail.contains(word) == true,
                "\(String(describing: problem)): \(text)")
        }
    }

    @Test("Ten thousand damaged locks are read or refused, and none is changed")
    func fuzzed() throws {
        let changes = try (0..<20).map { ("https://h/\($0).png", ImageLock.Change.add(try image("\($0)", Int64($0)))) }
        let good = try ImageLock.merged([], Dictionary(uniqueKeysWithValues: changes))
        var dice = Dice(1)
        var refused = 0
        for _ in 0..<10_000 {
            var bytes = good
            for _ in 0...dice.roll(3) {
                let place = dice.roll(bytes.count)
                switch dice.roll(4) {
                case 0: bytes[place] = UInt8(dice.roll(256))
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(UInt8(dice.roll(128)), at: place)
                default: bytes.removeSubrange(place...)
                }
                if bytes.isEmpty { bytes = [0x23] }
            }
            do {
                let lock = try ImageLock(bytes)
                let again = try ImageLock(ImageLock.merged(bytes, [:]))
                #expect(again.count == lock.count)
            } catch {
                refused += 1
                #expect(error.line >= 1, "\(error)")
            }
        }
        #expect(refused > 8000)
    }
}
