import Foundation
import Support
import Testing

@Suite("The articles name what exists")
struct ArticleTests {
    /// Every suite of tests, by the name of its type.
    private func suites() throws -> Set<Substring> {
        let tests = PackageRoot.url.appendingPathComponent("Tests")
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)
        var names: Set<Substring> = []
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /(?:struct|class|enum|extension) (\w+Tests)\b/) { names.insert(match.1) }
        }
        return names
    }

    @Test func suitesOfTests() throws {
        let folder = PackageRoot.url.appendingPathComponent("Sources/KFCore/KFCore.docc")
        let articles = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }
        let suites = try suites()
        var count = 0
        for article in articles {
            let text = try String(contentsOf: article, encoding: .utf8)
            for match in text.matches(of: /`(\w+Tests)`/) {
                #expect(suites.contains(match.1), "\(article.lastPathComponent): \(match.1)")
                count += 1
            }
        }
        #expect(count > 60)
    }
}
