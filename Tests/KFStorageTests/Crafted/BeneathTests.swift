import CSystem
import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Opening files beneath a directory")
final class BeneathTests {
    enum Way: CaseIterable { case kernel, walking }

    private let directory: TemporaryDirectory
    private let root: Int32

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write("inner/a/file", "inside")
        try directory.write("outside/file", "precious")
        #expect(symlink("../outside", directory.path("inner/link").path) == 0)
        #expect(symlink("file", directory.path("inner/a/link").path) == 0)
        #expect(symlink("/etc", directory.path("inner/a/absolute").path) == 0)
        root = Glibc.open(directory.path("inner").path, O_RDONLY | O_DIRECTORY)
        #expect(root >= 0)
    }

    deinit { close(root) }

    private func open(_ way: Way, _ path: String, _ flags: Int32 = O_RDONLY) -> Int32 {
        let raw =
            switch way {
            case .kernel: kf_open_beneath(root, path, flags, 0o600)
            case .walking: kf_open_walking(root, path, flags, 0o600)
            }
        if raw == -1 { return -errno }
        close(raw)
        return 0
    }

    @Test("A file below the directory opens and can be created", arguments: Way.allCases)
    func inside(_ way: Way) {
        #expect(open(way, "a/file") == 0)
        #expect(open(way, "a", O_RDONLY | O_DIRECTORY) == 0)
        #expect(open(way, "a/new", O_RDWR | O_CREAT | O_EXCL) == 0)
        #expect(open(way, "a/new", O_RDWR | O_CREAT | O_EXCL) == -EEXIST)
        #expect(open(way, "a/missing") == -ENOENT)
        #expect(open(way, "missing/file") == -ENOENT)
        #expect(open(way, "a/file/more") == -ENOTDIR)
    }

    @Test("No path component leads up or to the root", arguments: Way.allCases)
    func dots(_ way: Way) {
        for path in [
            "", "/", "/etc/passwd", "..", "../outside/file", "a/../../outside/file", "a/..", ".", "a/.", "a//file",
            "a/",
        ] {
            #expect(open(way, path) == -EXDEV, "\(path)")
        }
        #expect(open(way, "a/" + String(repeating: "x", count: 256)) == -ENAMETOOLONG)
        #expect(open(way, "a/..file") == -ENOENT)
    }

    @Test("Links are never followed", arguments: Way.allCases)
    func links(_ way: Way) {
        for path in ["link", "a/link", "a/absolute", "link/file", "a/absolute/passwd"] {
            #expect([-ELOOP, -ENOTDIR].contains(open(way, path)), "\(path)")
            #expect(open(way, path, O_RDWR | O_CREAT) < 0, "\(path)")
        }
        #expect(open(way, "link/new", O_RDWR | O_CREAT) < 0)
        #expect(!FileManager.default.fileExists(atPath: directory.path("outside/new").path))
    }
}

@Suite("Files of the cache by name")
struct CacheFileTests {
    private let fixture: DiskStorageFixture
    private let cache: CacheDirectory
    private let outside: String

    init() throws {
        fixture = try DiskStorageFixture()
        cache = try CacheDirectory(path: fixture.root, access: .create, trustsOwner: false)
        outside = try fixture.directory.write("outside/file", "precious").path
        #expect(symlink(fixture.directory.path("outside").path, "\(fixture.root)/v1/objects/ab") == 0)
    }

    @Test(
        "A name that leaves the directory is refused",
        arguments: [
            "../outside/file", "objects/../../../outside/file", "objects/ab/file", "objects/..", "", "a\0b", "/x",
        ])
    func refused(_ name: String) throws {
        #expect(throws: StorageError.self) { _ = try cache.open(name, O_RDONLY) }
        #expect(throws: StorageError.self) { try cache.removeFile(name) }
        #expect(throws: StorageError.self) { try cache.move("lock", to: name) }
        #expect(throws: StorageError.self) { try cache.move(name, to: "tmp/stolen") }
        #expect(throws: StorageError.self) { try cache.link("lock", to: name) }
        #expect(cache.status(of: name) == nil)
        #expect(cache.names(in: name).isEmpty)
        cache.unlink(name)
        cache.removeTree(name)
        #expect(try String(contentsOfFile: outside, encoding: .utf8) == "precious")
        #expect(cache.exists("lock") && !cache.exists("tmp/stolen"))
    }

    @Test("A directory in the place of a file is removed", arguments: [true, false])
    func cleared(isObject: Bool) throws {
        let object = StoredObject(
            digest: try #require(Digest(hex: "cd" + String(repeating: "0", count: 62))),
            fileExtension: try #require(ObjectExtension("png")), size: 1, modified: 0)
        let place = "objects/\(object.name)"
        // As deep as a removal goes.
        let deep = cache.path(place) + String(repeating: "/deep", count: 12)
        try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
        try "x".write(toFile: "\(deep)/file", atomically: false, encoding: .utf8)
        #expect(symlink(fixture.directory.path("outside").path, "\(deep)/link") == 0)
        if isObject { try cache.objects.clear(object) } else { try cache.clear(place) }
        #expect(!cache.exists(place))
        #expect(cache.names(in: "tmp").isEmpty)
        #expect(try String(contentsOfFile: outside, encoding: .utf8) == "precious")
    }
}
