import Foundation
import Support
import Testing

/// The rules that hold for the source of all modules. SwiftPM's own check allows a dependency's dependencies too.
@Suite("Imports of the modules")
struct ModuleTests {
    private static let allowed: [String: Set<String>] = [
        "KFSystem": [],
        "KFImaging": [],
        "KFNetwork": ["KFSystem"],
        "KFStorage": ["KFSystem"],
        "KFTerms": ["KFSystem", "KFImaging", "KFNetwork", "KFStorage"],
        "KFRemote": ["KFTerms", "KFSystem", "KFImaging", "KFNetwork", "KFStorage"],
        "KFLists": ["KFTerms", "KFSystem", "KFImaging", "KFStorage"],
        "KFPipeline": ["KFRemote", "KFTerms", "KFSystem", "KFImaging", "KFNetwork", "KFStorage"],
        "KFCore": ["KFPipeline", "KFLists", "KFRemote", "KFTerms", "KFSystem", "KFImaging", "KFNetwork", "KFStorage"],
        "KFFoundation": ["KFCore", "KFTerms", "KFImaging"],
        "Command": ["KFCore", "KFSystem"],
        "kf": [],
    ]

    /// The files of a module and their text.
    private func files(of module: String) throws -> [(file: String, text: String)] {
        let folder = FixturesDirectory.url.deletingLastPathComponent().appendingPathComponent("Sources/\(module)")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(!files.isEmpty)
        return try files.map { ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)) }
    }

    @Test("A module imports only the modules that it may use", arguments: allowed.keys.sorted())
    func imports(module: String) throws {
        for (file, text) in try files(of: module) {
            for line in text.split(separator: "\n") where line.contains("import ") && !line.hasPrefix(" ") {
                let words = line.split(separator: " ")
                guard let place = words.firstIndex(of: "import"), let name = words.last, !line.hasPrefix("//") else {
                    continue
                }
                #expect(place == 0, "\(module)/\(file) re-exports an import: \(line)")
                let isOurs = name.hasPrefix("KF")
                #expect(
                    !isOurs || Self.allowed[module]?.contains(String(name)) == true, "\(module)/\(file) imports \(name)"
                )
            }
        }
    }

    /// The folders of KFImaging that hold no numbers from outside but pixels.
    private static let pixelFolders = ["Filters/", "Processors/", "Encoding/"]

    @Test("A wide number becomes a narrow one only clamped, exactly or truncated", arguments: allowed.keys.sorted())
    func narrowing(module: String) throws {
        // What is converted may be a constant of C, a byte of a buffer, or text.
        let bare = /\bU?Int(?:8|16|32)\((?!\w+:|[A-Z_]{4,}|\w+(?:\.\w+)*\[|kind == .shared|MemoryLayout|String\()[^\n]*/
        for (file, text) in try files(of: module) where !Self.pixelFolders.contains(where: file.hasPrefix) {
            for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                guard let found = line.firstMatch(of: bare), !found.output.contains("radix:") else { continue }
                Issue.record("\(module)/\(file): \(found.output)")
            }
        }
    }

    @Test("Swift's conversions of floating-point numbers are hidden from every module")
    func floats() throws {
        for module in ["KFSystem", "KFImaging"] {
            let text = try #require(try files(of: module).first { $0.file.hasSuffix("OutsideNumbers.swift") }).text
            for type in ["Int", "Int64", "UInt64", "UInt8"] {
                let part = try #require(text.split(separator: "extension \(type) {").last)
                #expect(part.hasPrefix("\n    @available(*, deprecated"), "\(module), \(type)")
            }
        }
        // The others import one of the two, or a module that does.
        for (module, imports) in Self.allowed where !["KFSystem", "KFImaging", "KFFoundation", "kf"].contains(module) {
            #expect(imports.contains("KFSystem"), "\(module)")
        }
    }
}
