import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Directories shared by machines", .bounded)
struct SharedDirectoryTests {
    private let directory: TemporaryDirectory
    private let root: String
    private let outside: String
    private let shared: SharedDirectory

    init() throws {
        directory = try TemporaryDirectory()
        root = directory.path("root").path
        outside = directory.path("outside").path
        for path in [root, outside] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        try "precious".write(toFile: "\(outside)/file", atomically: false, encoding: .utf8)
        shared = SharedDirectory(root, creates: true)
    }

    private func write(
        _ text: String, to name: String, replaces: Bool = true, in shared: SharedDirectory? = nil
    ) throws(StorageError) {
        try (shared ?? self.shared).write(name, replaces: replaces) { file throws(StorageError) in
            try Self.add(text, to: file)
        }
    }

    private static func add(_ text: String, to file: borrowing FileDescriptor) throws(StorageError) {
        let bytes = Array(text.utf8)
        var problem: StorageError?
        bytes.withUnsafeBytes { bytes in
            do throws(StorageError) { try file.write(bytes) } catch { problem = error }
        }
        if let problem { throw problem }
    }

    private func text(_ name: String, in shared: SharedDirectory? = nil) throws -> String? {
        guard let file = try (shared ?? self.shared).open(name) else { return nil }
        return String(decoding: try file.readAll(expected: 0), as: UTF8.self)
    }

    private func text(at path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)")
    }

    private func expectUntouched() throws {
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside) == ["file"])
        #expect(try text(at: "\(outside)/file") == "precious")
    }

    @Test("A file is written and read back")
    func roundTrip() throws {
        #expect(try text("kf1/ac/ab/x") == nil)
        try write("one", to: "kf1/ac/ab/x")
        try write("two", to: "kf1/ac/cd/y")
        #expect(try text("kf1/ac/ab/x") == "one" && text("kf1/ac/cd/y") == "two")
        #expect(try text("kf1/ac/ab/y") == nil && text("kf1/ac/ab/x/deeper") == nil)
        #expect(try names("kf1/tmp").isEmpty)
    }

    @Test("A reader sees only whole files")
    func whole() throws {
        try write("old", to: "ac/x")
        for name in ["ac/x", "ac/new"] {
            try shared.write(name, replaces: true) { file throws(StorageError) in
                func seen() -> String? { (try? text(name)) ?? nil }
                try Self.add("the first half, ", to: file)
                #expect(seen() == (name == "ac/x" ? "old" : nil))
                #expect((try? names("kf1/tmp"))?.count == 1)
                try Self.add("and the second", to: file)
                #expect(seen() == (name == "ac/x" ? "old" : nil))
            }
            #expect(try text(name) == "the first half, and the second")
            #expect(try names("kf1/tmp").isEmpty)
        }
    }

    @Test("An open file survives its replacement")
    func opened() throws {
        try write("old", to: "ac/x")
        guard let file = try shared.open("ac/x") else {
            Issue.record("it was not opened")
            return
        }
        try write("new", to: "ac/x")
        #expect(String(decoding: try file.readAll(expected: 0), as: UTF8.self) == "old")
        #expect(try text("ac/x") == "new")
    }

    @Test("A failed write leaves the old file")
    func failed() throws {
        try write("old", to: "ac/x")
        let error = StorageError.system(call: "write", path: "p", errno: ENOSPC)
        for name in ["ac/x", "ac/y"] {
            #expect(throws: error) {
                try shared.write(name, replaces: true) { _ throws(StorageError) in throw error }
            }
        }
        #expect(try text("ac/x") == "old" && text("ac/y") == nil)
        #expect(try names("kf1/tmp").isEmpty)
    }

    @Test("Without replacing the first file stays")
    func replacing() throws {
        try write("one", to: "ac/x", replaces: false)
        let isWritten = try shared.write("ac/x", replaces: false) { _ throws(StorageError) in
            Issue.record("it was written")
        }
        #expect(!isWritten)
        #expect(try text("ac/x") == "one")
        try write("two", to: "ac/x", replaces: true)
        #expect(try text("ac/x") == "two")
        #expect(try names("kf1/tmp").isEmpty)
    }

    @Test("Concurrent writers leave one whole file")
    func concurrent() async throws {
        let texts = (0..<8).map { String(repeating: "\($0)", count: 100_000) }
        let wrong = await withTaskGroup(of: Int.self) { group in
            for text in texts {
                group.addTask {
                    var wrong = 0
                    for _ in 0..<10 {
                        let shared = SharedDirectory(root, creates: true)
                        do { try write(text, to: "ac/ab/x", in: shared) } catch { wrong += 1 }
                        let read = (try? self.text("ac/ab/x")) ?? ""
                        if !texts.contains(read) { wrong += 1 }
                    }
                    return wrong
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
        #expect(try names("kf1/tmp").isEmpty && names("ac/ab") == ["x"])
    }

    // MARK: Links

    @Test(
        "A link in the place of a folder is not followed",
        arguments: ["ac", "ac/ab"])
    func folderLink(_ folder: String) throws {
        if folder == "ac/ab" { try write("x", to: "ac/x") }
        #expect(symlink(outside, "\(root)/\(folder)") == 0)
        #expect(throws: StorageError.self) { _ = try shared.open("\(folder)/file") }
        for replaces in [true, false] {
            #expect(throws: StorageError.self) { try write("evil", to: "\(folder)/file", replaces: replaces) }
            #expect(throws: StorageError.self) { try write("evil", to: "\(folder)/deep/new", replaces: replaces) }
        }
        try expectUntouched()
    }

    @Test("A link in the place of the temporary folder is not followed")
    func temporaryLink() throws {
        #expect(mkdir("\(root)/kf1", 0o755) == 0 && symlink(outside, "\(root)/kf1/tmp") == 0)
        #expect(throws: StorageError.self) { try write("evil", to: "ac/x") }
        #expect(try text("ac/x") == nil)
        try expectUntouched()
    }

    @Test("A link in the place of a file is not read")
    func fileLink() throws {
        try write("x", to: "ac/y")
        #expect(symlink("\(outside)/file", "\(root)/ac/x") == 0)
        #expect(throws: StorageError.self) { _ = try shared.open("ac/x") }
        try write("evil", to: "ac/x", replaces: false)
        #expect(throws: StorageError.self) { _ = try shared.open("ac/x") }
        try write("good", to: "ac/x", replaces: true)
        #expect(try text("ac/x") == "good")
        try expectUntouched()
    }

    @Test(
        "No name leads out of the directory",
        arguments: ["../outside/file", "ac/../../outside/file", "/etc/passwd"])
    func escape(_ name: String) throws {
        try write("x", to: "ac/x")
        do {
            let file = try shared.open(name)
            if file != nil { Issue.record("\(name) was opened") }
        } catch {}
        do { try write("evil", to: name) } catch {}
        try expectUntouched()
        #expect(try !text(at: "/etc/passwd").contains("evil"))
    }

    @Test("A folder or pipe in a file's place is refused")
    func otherKinds() throws {
        try write("x", to: "ac/x")
        #expect(mkdir("\(root)/ac/folder", 0o755) == 0 && mkfifo("\(root)/ac/pipe", 0o644) == 0)
        for (name, kind) in [("ac/folder", "a directory"), ("ac/pipe", "a FIFO")] {
            #expect(throws: StorageError.planted(path: "\(root)/\(name)", kind: kind)) {
                _ = try shared.open(name)
            }
        }
        #expect(throws: StorageError.self) { try write("evil", to: "ac/folder") }
        #expect(try names("kf1/tmp").isEmpty)
        #expect(throws: StorageError.self) { try write("evil", to: "ac/x/deeper") }
    }

    // MARK: The root

    @Test("A missing root can be created")
    func creates() throws {
        let path = directory.path("missing").path
        try write("x", to: "ac/x", in: SharedDirectory(path, creates: true))
        #expect(try text(at: "\(path)/ac/x") == "x")
    }

    @Test("A missing root is an error")
    func missing() throws {
        let path = directory.path("missing").path
        let other = SharedDirectory(path, creates: false)
        #expect(throws: StorageError.system(call: "open", path: path, errno: ENOENT)) { _ = try other.open("x") }
        #expect(throws: StorageError.self) { try write("x", to: "x", in: other) }
        #expect(!FileManager.default.fileExists(atPath: path))
        // It is used when it has appeared.
        #expect(mkdir(path, 0o755) == 0)
        #expect(try text("x", in: other) == nil)
        try write("x", to: "ac/x", in: other)
        #expect(try text(at: "\(path)/ac/x") == "x")
    }

    @Test("A file in the place of the root is an error")
    func fileAsRoot() throws {
        let other = SharedDirectory("\(outside)/file", creates: true)
        #expect(throws: StorageError.self) { _ = try other.open("x") }
        #expect(throws: StorageError.self) { try write("evil", to: "x", in: other) }
        try expectUntouched()
    }

    // MARK: Temporaries

    private static let day = 86_400
    private static let temporary = "kf-upload-0123456789abcdef"

    private func plant(_ name: String, age: Int) throws {
        try "half".write(toFile: "\(root)/\(name)", atomically: false, encoding: .utf8)
        try setAge(age, of: "\(root)/\(name)")
    }

    /// Writes as a new writer, which removes what killed writers have left. Reading removes nothing.
    private func sweep() throws {
        let writer = SharedDirectory(root, creates: true)
        let before = try names("kf1/tmp")
        #expect(try text("ac/z", in: writer) == nil && names("kf1/tmp") == before)
        try write("z", to: "ac/z", in: writer)
    }

    @Test("A writer removes day-old temporary files")
    func sweepsOwn() throws {
        try write("x", to: "ac/x")
        try plant("kf1/tmp/\(Self.temporary)", age: Self.day + 60)
        try plant("kf1/tmp/kf-upload-00000000000000ff", age: Self.day - 600)
        #expect(try text("ac/z", in: SharedDirectory(root, creates: false)) == nil)
        #expect(try names("kf1/tmp").count == 2)
        try sweep()
        #expect(try names("kf1/tmp") == ["kf-upload-00000000000000ff"])
        #expect(try text("ac/x") == "x")
    }

    @Test("A sweep finds its files behind a thousand others")
    func sweepsBehindOthers() throws {
        try write("x", to: "ac/x")
        for number in 0..<1100 { try plant("kf1/tmp/0-\(number)", age: 2 * Self.day) }
        try plant("kf1/tmp/\(Self.temporary)", age: 2 * Self.day)
        try sweep()
        #expect(try names("kf1/tmp").count == 1100 && !names("kf1/tmp").contains(Self.temporary))
    }

    @Test(
        "Files of other names and ages stay",
        arguments: [100, 2 * 86_400, 40_000 * 86_400, -2 * 86_400, -40_000 * 86_400, -200_000 * 86_400])
    func sweepsNothingElse(_ age: Int) throws {
        try write("x", to: "ac/x")
        #expect(mkdir("\(root)/tmp", 0o755) == 0)
        let foreign = [
            "report.pdf", "0123456789abcdef.12.1.42", "kf-upload-", "kf-upload-0123456789abcde",
            "kf-upload-0123456789ABCDEF", "kf-upload-0123456789abcdef0", "kf-upload-0123456789abcdeg",
            "x\(Self.temporary)", "kf-upload-0123456789abcde\u{e9}",
        ]
        for folder in ["", "tmp/", "kf1/", "kf1/tmp/"] {
            for name in foreign { try plant("\(folder)\(name)", age: age) }
        }
        // The name of kf's own files counts in their folder alone, and not in the future.
        try plant("tmp/\(Self.temporary)", age: age)
        if age < Self.day { try plant("kf1/tmp/\(Self.temporary)", age: age) }
        let before = try ["", "tmp", "kf1", "kf1/tmp"].map { try names($0).sorted() }
        try sweep()
        #expect(try ["", "tmp", "kf1", "kf1/tmp"].map { try names($0).sorted() } == before)
    }

    @Test("A sweep removes no link, folder or pipe")
    func sweepsFilesOnly() throws {
        try write("x", to: "ac/x")
        let names = (0..<3).map { "\(root)/kf1/tmp/kf-upload-000000000000000\($0)" }
        #expect(
            symlink("\(outside)/file", names[0]) == 0 && mkdir(names[1], 0o755) == 0 && mkfifo(names[2], 0o644) == 0)
        for name in names { try setAge(2 * Self.day, of: name) }
        try setAge(2 * Self.day, of: "\(outside)/file")
        try sweep()
        #expect(try self.names("kf1/tmp").count == 3)
        try expectUntouched()
    }

    @Test("A linked temporary folder is not swept")
    func sweptLink() throws {
        let old = "\(outside)/\(Self.temporary)"
        try "old".write(toFile: old, atomically: false, encoding: .utf8)
        try setAge(2 * Self.day, of: old)
        #expect(mkdir("\(root)/kf1", 0o755) == 0 && symlink(outside, "\(root)/kf1/tmp") == 0)
        #expect(throws: StorageError.self) { try sweep() }
        #expect(try text(at: old) == "old")
        unlink(old)
        try expectUntouched()
    }
}
