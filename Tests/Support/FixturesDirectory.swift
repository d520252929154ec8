import Foundation

/// One picture of `Fixtures/`, as its manifest describes it.
package struct Fixture: Sendable, CustomStringConvertible {
    /// The path inside `Fixtures/`, such as `jpeg/grey.jpg`.
    package let name: String
    /// `jpeg`, `png`, `gif`, `webp`, `bmp` or `ico`.
    package let format: String
    /// The size as a viewer shows it, after the EXIF orientation.
    package let width: Int
    package let height: Int
    package let frames: Int
    package let notes: String

    package var url: URL { FixturesDirectory.url.appendingPathComponent(name) }
    package var data: Data { get throws { try Data(contentsOf: url) } }
    package var description: String { name }
}

/// The pictures that `Fixtures/draw.py` drew.
package enum FixturesDirectory {
    package static let url = PackageRoot.url.appendingPathComponent("Fixtures", isDirectory: true)

    /// Every picture that decodes, sorted by name. Empty only when the manifest cannot be read.
    package static let all: [Fixture] = readManifest()

    /// The picture of that name; throws when the manifest does not list it.
    package static func named(_ name: String) throws -> Fixture {
        guard let fixture = all.first(where: { $0.name == name }) else { throw Missing(name: name) }
        return fixture
    }

    /// The bytes of a file, by its path inside `Fixtures/`.
    package static func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: url.appendingPathComponent(path)))
    }

    /// The same for a suite's own properties, which cannot throw.
    package static func image(_ path: String) -> [UInt8] {
        do { return try bytes(path) } catch { preconditionFailure("\(error)") }
    }

    /// The bytes of a file in `Fixtures/broken/`.
    package static func broken(_ name: String) throws -> Data {
        try Data(contentsOf: url.appendingPathComponent("broken").appendingPathComponent(name))
    }

    package struct Missing: Error, CustomStringConvertible {
        package let name: String
        package var description: String { "Fixtures/MANIFEST.tsv lists no \(name)" }
    }

    private static func readManifest() -> [Fixture] {
        guard let text = try? String(contentsOf: url.appendingPathComponent("MANIFEST.tsv"), encoding: .utf8) else {
            return []
        }
        return text.split(separator: "\n").dropFirst().compactMap { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 6, let width = Int(fields[2]), let height = Int(fields[3]),
                let frames = Int(fields[4])
            else { return nil }
            return Fixture(
                name: fields[0], format: fields[1], width: width, height: height, frames: frames, notes: fields[5])
        }
    }
}
