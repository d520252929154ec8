import Foundation
import Support
import Testing

extension EndToEnd {
    /// The lines of other programs in the article, and kf's.
    @Suite("Lines of other programs")
    struct ComingFromTests {
        struct Pair: CustomTestStringConvertible, Sendable {
            let program: String
            let theirs: String
            let ours: String
            var testDescription: String { theirs }
        }

        static let pairs: [Pair] = {
            let article = PackageRoot.url.appending(path: "Sources/KFCore/KFCore.docc/ComingFrom.md")
            let text = (try? String(contentsOf: article, encoding: .utf8)) ?? ""
            let pattern = /```sh ([a-z0-9]+)\n((?s).*?)```\n```sh kf\n((?s).*?)```/
            return text.matches(of: pattern).map { Pair(program: "\($0.1)", theirs: "\($0.2)", ours: "\($0.3)") }
        }()

        @Test("The article has a pair for each program that fetches")
        func count() {
            #expect(Set(Self.pairs.map(\.program)) == ["curl", "wget", "aria2c", "vipsthumbnail"])
        }

        @Test("Both lines write the same files", arguments: pairs)
        func equal(pair: Pair) async throws {
            let server = try FileServer()
            let pictures = ["jpeg/grey.jpg", "jpeg/landscape-420.jpg"]
            let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/\(pair.program)")
            var written: [[String: String]] = []
            for script in (isInstalled ? [pair.theirs] : []) + [pair.ours] {
                let kf = try KFCommand()
                try kf.home.write("work/plain.txt", pictures.map { server.url($0) + "\n" }.joined())
                for picture in pictures {
                    let data = try FixturesDirectory.named(picture).data
                    try kf.home.write("work/photos/\(picture.split(separator: "/")[1])", data)
                }
                let lines = script.replacing("https://example.com/one.jpg", with: server.url(pictures[0]))
                let result = try await kf.script(lines)
                #expect(result.status == 0, "\(lines)\n\(result)")
                var files: [String: String] = [:]
                for name in TemporaryDirectory.files(in: kf.home.path("work/out")) {
                    let item = try await kf.run("fetch", kf.home.path("work/out/\(name)").path, "--json").item()
                    // Of what is made anew, the encoders differ.
                    let bytes = pair.program == "vipsthumbnail" ? "" : item.sha256 ?? ""
                    files[name] = "\(item.width ?? 0)x\(item.height ?? 0) \(bytes)"
                }
                written.append(files)
            }
            #expect(written.allSatisfy { $0 == written[0] && !$0.isEmpty }, "\(written)")
        }
    }

    /// What the article promises to programs that drive kf.
    @Suite("A driven kf")
    struct DrivingTests {
        private let kf: KFCommand
        private let picture: [UInt8]

        init() throws {
            kf = try KFCommand()
            picture = try FixturesDirectory.bytes("png/rgb.png")
        }

        private func server() throws -> FaultServer {
            try FaultServer { [picture] request in
                request.path.contains("gone") ? [.reply("404 Not Found", body: [])] : [.reply(body: picture)]
            }
        }

        @Test("The programs of the article work when pasted", arguments: ["python", "js"])
        func programs(language: String) async throws {
            let program = language == "python" ? "/usr/bin/python3" : "/usr/bin/node"
            guard FileManager.default.isExecutableFile(atPath: program) else { return }
            let article = PackageRoot.url.appending(path: "Sources/KFCore/KFCore.docc/Driving.md")
            let text = try String(contentsOf: article, encoding: .utf8)
            let code = try #require(text.components(separatedBy: "```\(language)\n").dropFirst().first)
            let server = try server()
            let script = code.components(separatedBy: "```")[0]
                .replacing("https://example.com", with: server.url("").dropLast(server.url("").hasSuffix("/") ? 1 : 0))
            try kf.home.write("work/drive.\(language)", script)
            let result = try await kf.script("\(program) drive.\(language)")
            #expect(result.status == 0, "\(result)")
            let path = try await kf.run("cache", "path", server.url("/one.jpg")).output
            if language == "python" {
                #expect(result.output == "\(path)None\n1 1 1\n", "\(result)")
            } else {
                #expect(result.output == "1 fetched \(path)2 failed null\n1 1 1\n", "\(result)")
            }
        }

        @Test("An answer does not wait for another question")
        func atOnce() async throws {
            let server = try server()
            // Each question is written after the answer to the one before has been read.
            let script = """
                mkfifo in out
                kf prefetch - --input-format jsonl --json -q < in > out &
                exec 3> in 4< out
                for number in 1 2 3 4 5; do
                    echo "{\\"url\\":\\"\(server.url("/"))$number.png\\",\\"id\\":$number}" >&3
                    read -r -t 20 answer <&4
                    [[ $answer = *'"status":"fetched"'*'"id":'$number'}'* ]]
                done
                exec 3>&-
                read -r -t 20 answer <&4
                [[ $answer = *'"summary":true'*'"fetched":5'* ]]
                wait
                """
            let result = try await kf.script(script)
            #expect(result.status == 0, "\(result)")
        }
    }
}
