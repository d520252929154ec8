import Foundation
import Support
import Testing

extension EndToEnd {
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
