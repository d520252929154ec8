import Foundation
import Support
import Testing

/// What each module of the project may import of the others. SwiftPM's own check allows a dependency's dependencies too.
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

    @Test("A module imports only the modules that it may use", arguments: allowed.keys.sorted())
    func imports(module: String) throws {
        let folder = FixturesDirectory.url.deletingLastPathComponent().appendingPathComponent("Sources/\(module)")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(!files.isEmpty)
        for file in files {
            let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
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
}
