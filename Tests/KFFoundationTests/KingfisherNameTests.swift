import Foundation
import Support
import Testing

/// Kingfisher's calls, compiled against the modules that were built with the tests.
@Suite("Kingfisher's names", .bounded, .enabled(if: Compiler.path != nil, "there is no swiftc"))
struct KingfisherNameTests {
    @Test("The compiler answers each task of Kingfisher's documentation")
    func tasks() async throws {
        let samples = try await Compiler.samples("CheatSheet.swift")
        for sample in samples { sample.check() }
        #expect(samples.count == 32)
        #expect(samples.count { $0.says.isEmpty } == 23)
    }

    @Test("The table for those who know Kingfisher is what compiles")
    func table() async throws {
        let samples = try await Compiler.samples("Table.swift")
        for sample in samples { sample.check() }
        let article = try String(
            contentsOf: PackageRoot.url.appendingPathComponent("Sources/KFCore/KFCore.docc/FromKingfisher.md"),
            encoding: .utf8)
        let tables = article.components(separatedBy: "### Methods that a program implements")[0]
        let rows = tables.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| Kingfisher |") }
            .map { $0.dropFirst(2).dropLast(2).components(separatedBy: " | ") }
        #expect(rows.map { $0[0] } == samples.map(\.title))
        for (row, sample) in zip(rows, samples) {
            #expect(row[1].hasPrefix("The same") == sample.says.isEmpty, "\(row[0]): \(row[1])")
        }
    }
}

/// Swift code under a title, and what the compiler should say of it.
private struct Sample {
    let title: String
    let lines: Range<Int>
    /// The parts of messages that are expected.
    let says: [String]
    var errors: [String] = []
    var notes: [String] = []

    func check() {
        for error in errors {
            #expect(says.contains { error.contains($0) }, "\(title): \(error)")
        }
        for part in says {
            #expect((errors + notes).contains { $0.contains(part) }, "\(title): the compiler does not say: \(part)")
        }
    }
}

private enum Compiler {
    /// The compiler of the path; nil when there is none.
    static let path: String? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/swiftc" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    /// Returns the samples of a file with what the compiler says of each.
    static func samples(_ name: String) async throws -> [Sample] {
        let file = PackageRoot.url.appendingPathComponent("Tests/KFFoundationTests/Kingfisher/\(name)")
        var samples = parse(try String(contentsOf: file, encoding: .utf8))
        let result = try await Tool.run(
            try #require(path),
            ["-typecheck", "-swift-version", "6", "-diagnostic-style", "llvm"] + (try flags()) + [file.path],
            timeout: .seconds(150))
        var current: Int?
        for line in (result.errors + result.output).split(separator: "\n") {
            if let (_, text) = message(line, " error: ") {
                let number =
                    line.hasPrefix("\(file.path):")
                    ? Int(line.dropFirst(file.path.count + 1).prefix { $0 != ":" }) : nil
                current = samples.firstIndex { number.map($0.lines.contains) ?? false }
                if let current { samples[current].errors.append(text) } else { Issue.record("\(line)") }
            } else if let (_, text) = message(line, " note: "), let current {
                samples[current].notes.append(text)
            }
        }
        return samples
    }

    private static func message(_ line: Substring, _ kind: String) -> (Substring, String)? {
        guard line.hasPrefix("/") || line.hasPrefix("<"), let place = line.range(of: kind) else { return nil }
        return (line[..<place.lowerBound], String(line[place.upperBound...]))
    }

    /// Each sample begins with its title in a comment of documentation.
    private static func parse(_ text: String) -> [Sample] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let starts = lines.indices.filter { lines[$0].hasPrefix("/// ") }
        return zip(starts, starts.dropFirst() + [lines.count]).map { start, end in
            let says = lines[start..<end].compactMap { line in
                line.range(of: "// says: ").map { String(line[$0.upperBound...]) }
            }
            return Sample(title: String(lines[start].dropFirst(4)), lines: start + 1..<end + 1, says: says)
        }
    }

    /// Where the modules of the build are, and those of C that they import.
    private static func flags() throws -> [String] {
        let built = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let sources = PackageRoot.url.appendingPathComponent("Sources")
        func folders(_ url: URL) throws -> [URL] {
            try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: nil)
        }
        let maps = try (folders(sources) + folders(built)).map { $0.appendingPathComponent("module.modulemap").path }
        let headers = try folders(sources).map { $0.appendingPathComponent("include").path }
        var flags = ["-I", built.appendingPathComponent("Modules").path]
        // One of its own: the compiler refuses modules that were cached under another name of the folder.
        flags += ["-module-cache-path", built.appendingPathComponent("KingfisherNames.cache").path]
        for map in maps where FileManager.default.fileExists(atPath: map) {
            flags += ["-Xcc", "-fmodule-map-file=\(map)"]
        }
        for folder in headers where FileManager.default.fileExists(atPath: folder) { flags += ["-I", folder] }
        return flags
    }
}
