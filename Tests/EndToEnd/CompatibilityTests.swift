import Foundation
import Support
import Testing

extension EndToEnd {
    /// What the article Changelog promises of releases: a field of JSON that the last release had is there with its type.
    @Suite("Compatibility with the last release", .bounded) struct CompatibilityTests {
        /// The release whose outputs `Fixtures/json` has.
        private static let release = "0.1.0"
        private let kf: KFCommand
        private let server: FaultServer

        init() throws {
            kf = try KFCommand()
            let image = try FixturesDirectory.bytes("png/rgb.png")
            server = try FaultServer { request in
                if request.path.hasPrefix("/gone") { return [.reply("404 Not Found", body: [])] }
                let optsOut = request.path.hasPrefix("/private")
                return [.reply(headers: optsOut ? ["TDM-Reservation: 1"] : [], body: image)]
            }
        }

        /// The commands with JSON, in an order in which each has something to say, by the names of their samples.
        private var commands: [(name: String, arguments: [String])] {
            let (url, gone) = (server.url("/a.png"), server.url("/gone.png"))
            let chain = ["-p", "resize:2x2"]
            return [
                ("fetch", ["fetch", url, gone, "-P", "out", "--retry", "0", "--tag", "site"] + chain),
                (
                    "fetch-hash",
                    ["fetch", server.url("/b.png"), "--hash", "sha256:\(String(repeating: "0", count: 64))"]
                ),
                ("fetch-lock", ["fetch", url, "--lock", "images.lock"]),
                ("prefetch", ["prefetch", "list.csv", "--lock", "images.lock", "--retry", "0", "--url-column", "url"]),
                ("prefetch-dry-run", ["prefetch", "list.csv", "--dry-run", "--url-column", "url"]),
                ("cache-stat", ["cache", "stat"]), ("cache-ls", ["cache", "ls"]),
                ("cache-tags", ["cache", "tags"]), ("cache-path", ["cache", "path", url]),
                ("cache-explain", ["cache", "explain", url] + chain), ("cache-verify", ["cache", "verify"]),
                ("cache-verify-lock", ["cache", "verify", "--lock", "images.lock"]),
                ("cache-put", ["cache", "put", "own.png", "--key", "mine"]),
                ("cache-rm", ["cache", "rm", url, "--dry-run"]),
                ("cache-clean", ["cache", "clean", "--host", "127.0.0.1"]),
                ("config", ["config"]), ("version", ["--version"]),
            ] + commandsWithRemote + commandsWithFilters
        }

        private var commandsWithRemote: [(name: String, arguments: [String])] {
            let remote = ["--remote", "file://\(kf.home.path("remote").path)"]
            let pair = ["pair.txt", "--retry", "0"]
            return [
                ("prefetch-measure", ["prefetch", "--measure", Self.measures, "--placeholder", "color"] + pair),
                ("cache-ls-measure", ["cache", "ls"]), ("cache-dupes", ["cache", "dupes"]),
                ("cache-push", ["cache", "push"] + remote),
                ("prefetch-remote", ["prefetch", "--cache-dir", "other", "--remote-write"] + pair + remote),
                (
                    "fetch-remote",
                    ["fetch", server.url("/a.png"), server.url("/c.png"), "--cache-dir", "third"] + remote
                ),
                ("cache-pull", ["cache", "pull", "pair.txt", "--cache-dir", "fourth"] + remote),
                ("cache-explain-remote", ["cache", "explain", server.url("/a.png"), "--cache-dir", "fifth"] + remote),
                ("cache-merge", ["cache", "merge", "other", "third", "--cache-dir", "fifth"]),
            ]
        }

        private static let measures = "dhash,entropy,mean,sharpness,color,transparent,frames"

        private var commandsWithFilters: [(name: String, arguments: [String])] {
            let filters = ["--min-size", "1000x", "--respect-opt-out"]
            let lists = ["pair.txt", "left.txt"]
            let urls = ["/a.png", "/private.png"].map { server.url($0) }
            return [
                ("prefetch-filters", ["prefetch"] + lists + filters), ("fetch-filters", ["fetch"] + urls + filters),
                ("prefetch-dry-run-filters", ["prefetch", "--dry-run"] + lists + filters),
                ("cache-explain-filters", ["cache", "explain"] + urls + filters),
                ("cache-ls-filters", ["cache", "ls"]),
            ]
        }

        private func outputs() async throws -> [(name: String, objects: [Any])] {
            try kf.home.write("list.csv", "url,id\n\(server.url("/a.png")),1\n\(server.url("/gone.png")),2\n")
            try kf.home.write("pair.txt", "\(server.url("/a.png"))\n\(server.url("/b.png"))\n")
            try kf.home.write("left.txt", "\(server.url("/private.png"))\n\(server.url("/new.png"))\n")
            try FileManager.default.createDirectory(at: kf.home.path("remote"), withIntermediateDirectories: true)
            try kf.home.write("own.png", Data(FixturesDirectory.bytes("png/grey.png")))
            var outputs: [(String, [Any])] = []
            for (name, arguments) in commands {
                let result = try await kf.run(arguments + ["--json"])
                try #require([0, 1].contains(result.status), "\(name): \(result)")
                let lines = result.output.split(separator: "\n")
                outputs.append((name, try lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) }))
            }
            return outputs
        }

        @Test("The JSON of the last release keeps its fields")
        func fields() async throws {
            let folder = FixturesDirectory.url.appendingPathComponent("json/\(Self.release)")
            let outputs = try await outputs()
            // To take the samples of a release.
            if let target = ProcessInfo.processInfo.environment["KF_SAMPLES"] {
                for (name, objects) in outputs {
                    let shape = objects.reduce(into: Shape()) { $0.add($1) }
                    try Data(shape.lines.joined().utf8).write(to: URL(fileURLWithPath: "\(target)/\(name).txt"))
                }
            }
            let samples = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(Set(samples) == Set(outputs.map { "\($0.name).txt" }))
            for (name, objects) in outputs {
                let now = Set(objects.reduce(into: Shape()) { $0.add($1) }.lines)
                let before = try String(contentsOf: folder.appendingPathComponent("\(name).txt"), encoding: .utf8)
                var lost = before.split(separator: "\n").map { "\($0)\n" }.filter { !now.contains($0) }
                // Only `make build` tells the binary its commit.
                if name == "version", now.contains("commit null\n") { lost.removeAll { $0 == "commit string\n" } }
                #expect(lost.isEmpty, "\(name) has lost \(lost)")
            }
        }

        /// The fields of some objects with their types, a line for each, such as `error.code number`.
        private struct Shape {
            private var fields: Set<String> = []

            var lines: [String] { fields.sorted() }

            mutating func add(_ value: Any, at path: String = "") {
                switch value {
                case let object as [String: Any]:
                    // Whatever a user names is no field.
                    let names = path.hasSuffix("columns") || path.hasSuffix("options") ? [] : object.keys.sorted()
                    for name in names { add(object[name] ?? NSNull(), at: path.isEmpty ? name : "\(path).\(name)") }
                    if !path.isEmpty { fields.insert("\(path) object\n") }
                case let list as [Any]:
                    for element in list { add(element, at: "\(path)[]") }
                    fields.insert("\(path) list\n")
                case is NSNull: fields.insert("\(path) null\n")
                case let number as NSNumber:
                    let isBool = String(cString: number.objCType) == "c"
                    fields.insert("\(path) \(isBool ? "boolean" : "number")\n")
                default: fields.insert("\(path) string\n")
                }
            }
        }

        @Test("The newest heading of the changelog is this version")
        func changelog() throws {
            let path = PackageRoot.url.appendingPathComponent("Sources/KFCore/KFCore.docc/Changelog.md")
            let headings = try String(contentsOf: path, encoding: .utf8).split(separator: "\n").filter {
                $0.hasPrefix("## ")
            }
            let version = try String(
                contentsOf: PackageRoot.url.appendingPathComponent("Sources/KFSystem/Version.swift"), encoding: .utf8)
            let newest = try #require(headings.first { $0.contains(".") }).dropFirst(3)
            #expect(version.contains("number = \"\(newest.prefix { $0 != " " })\""), "\(newest)")
            #expect(version.contains("date = \"\(newest.split(separator: " ").last ?? "")\""), "\(newest)")
        }
    }
}
