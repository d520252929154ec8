import Foundation
import Support
import Testing

@testable import Command

extension EndToEnd {
    @Suite("Environment")
    struct EnvironmentTests {
        private func isRead(_ name: some StringProtocol) -> Bool {
            Session.variables.contains { "\($0)" == name } || Session.families.contains { name.hasPrefix("\($0)") }
        }

        /// The variables that the sources name beside the word "environment", and those of S3.
        private func named() throws -> Set<Substring> {
            var names: Set<Substring> = []
            for module in ["Command", "KFPipeline", "KFRemote"] {
                let folder = PackageRoot.url.appending(path: "Sources/\(module)")
                let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
                for case let file as URL in try #require(files) where file.pathExtension == "swift" {
                    for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                        guard line.contains("environment[") || line.contains("value(\"AWS_") else { continue }
                        names.formUnion(line.matches(of: /"([A-Z][A-Z0-9_]+)"/).map(\.1))
                    }
                }
            }
            return names
        }

        @Test("The command decodes every variable that its sources read")
        func sources() throws {
            let names = try named()
            #expect(names.isSuperset(of: ["HOME", "TERM", "GITHUB_ACTIONS", "CURL_CA_BUNDLE", "AWS_REGION"]))
            #expect(names.filter { !isRead($0) } == [])
        }

        @Test("The command decodes every variable that its manual names")
        func manual() {
            // libcurl's variables are read by the engine itself, and not from the command's.
            let names = ManualText.environment.flatMap { $0.key.split(separator: ", ") }.filter {
                !$0.hasSuffix("_proxy")
            }
            #expect(names.count > 12)
            #expect(names.filter { !isRead($0) } == [])
        }

        @Test("The command decodes the values of its variables, and no others")
        func values() {
            let all = ProcessInfo.processInfo.environment
            let read = Session.processEnvironment
            #expect(read["HOME"] == all["HOME"] && read["HOME"] != nil)
            #expect(read == all.filter { isRead($0.key) })
            #expect(read["PATH"] == nil && all["PATH"] != nil)
        }
    }
}
