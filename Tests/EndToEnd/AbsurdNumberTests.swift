import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Absurd numbers")
    struct AbsurdNumberTests {
        static let numbers = [
            "1e-300", "1e300", "1e999", "-1", "-1e300", "-0", "0", "0.0", "nan", "NaN", "inf", "-inf", "infinity",
            "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616",
            "4611686018427387903", "99999999999999999999999999999999999999", "1e18", "1e11", "0x1p1023", "1e-5", "",
            " ",
            ".", "1.", ".5", "1e", "٣", "1 000", "+5", "1,5", String(repeating: "9", count: 400),
        ]

        static let extremes = ["1e-300", "-1", "nan", "9223372036854775807", "99999999999999999999999999999999999999"]
        static let durations = ["", "ms", "s", "m", "h", "d", "w", "y"]
        static let sizes = ["", "k", "M", "GiB", "T", "P", "TB"]

        /// Each option that takes a number, with what may stand behind the number.
        static let options: [(command: String, option: String, endings: [String])] = [
            ("fetch", "--timeout", durations), ("fetch", "--max-time", durations), ("fetch", "--deadline", durations),
            ("fetch", "--stale-if-error", durations), ("fetch", "--expire", durations),
            ("fetch", "--extend", durations),
            ("fetch", "--retry-delay", durations), ("fetch", "--max-size", sizes), ("fetch", "--max-bytes", sizes),
            ("fetch", "--scale-down", sizes), ("fetch", "--rate", ["", "/s", "/m", "/h", "/d"]),
            ("fetch", "--retry", [""]),
            ("fetch", "-j", [""]), ("fetch", "--max-per-host", [""]), ("fetch", "--quality", [""]),
            ("fetch", "--max-pixels", [""]), ("fetch", "--max-redirects", [""]),
            ("prefetch", "--max-failures", ["", "%"]), ("prefetch", "--shard", ["/4", "/9223372036854775807"]),
            ("prefetch", "--url-column", [""]), ("prefetch", "--key-column", [""]), ("prefetch", "--rate", ["/s"]),
            ("prefetch", "--deadline", ["", "d"]), ("prefetch", "--grace", durations), ("cache ls", "--limit", [""]),
            ("cache stat", "--max-size", sizes),
            ("cache clean", "--max-size", sizes), ("cache clean", "--older-than", durations),
            ("cache clean", "--unused-for", durations), ("cache report", "--thumbnails", [""]),
        ]

        let kf: KFCommand

        init() throws {
            var kf = try KFCommand()
            kf.environment["KF_RETRY_DELAY"] = "0"
            self.kf = kf
            try kf.home.write("a.png", FixturesDirectory.named("png/one-pixel.png").data)
            try kf.home.write("list.csv", "http://127.0.0.1:1/a\n")
        }

        @Test("Absurd numbers in options do not crash kf", arguments: options.indices)
        func numbers(index: Int) async throws {
            let (command, option, endings) = Self.options[index]
            let words = command.split(separator: " ").map(String.init)
            let operands =
                switch command {
                // A transfer that fails at once, and a file that is decoded.
                case "fetch": ["http://127.0.0.1:1/a", "a.png", "-p", "resize:3x3"]
                case "prefetch": ["list.csv", "-q"]
                case "cache report": ["-o", "r.html"]
                default: [String]()
                }
            // A span between tries is cut off, or it would be waited for.
            let retry = ["--retry", "1", "--deadline", "100ms", "--timeout", "100ms"]
            let isFetching = words[0].hasSuffix("fetch")
            let own = option.hasPrefix("--retry-") ? retry : isFetching && option != "--retry" ? ["--retry", "0"] : []
            let first = Self.numbers.map { $0 + endings[0] }
            let others = endings.dropFirst().flatMap { ending in Self.extremes.map { $0 + ending } }
            let values = first + others
            let kf = kf
            await withTaskGroup(of: Void.self) { group in
                var rest = values[...]
                func start() {
                    guard let value = rest.popFirst() else { return }
                    let text = option.hasPrefix("--") ? "\(option)=\(value)" : option + value
                    group.addTask { await Self.check(kf, words + own + [text] + operands) }
                }
                for _ in 0..<4 { start() }
                while await group.next() != nil { start() }
            }
        }

        private static func check(_ kf: KFCommand, _ arguments: [String]) async {
            do {
                let result = try await kf.call(arguments)
                #expect((0...4).contains(result.status), "\(result)")
                if result.status == 2 {
                    #expect(result.errorLines.count == 1 && result.errors.hasPrefix("kf: "), "\(result)")
                }
            } catch {
                Issue.record("\(arguments): \(error)")
            }
        }

        @Test(
            "Absurd numbers in processors do not crash kf",
            arguments: [
                "resize:#x#", "resize:#x", "downsample:#x#", "crop:#x#", "crop:1x1,anchor=#x#", "blur:#",
                "round-corner:#",
                "round-corner:#w", "round-corner:1,size=#x#", "border:#", "border:1,radius=#",
                "overlay:#fff,fraction=#",
                "color:brightness=#", "color:contrast=#", "color:saturation=#", "color:ev=#", "blend:multiply,alpha=#",
                "rotate:#", "pad:#x#,#fff", "sharpen:#",
                "trim:#", "resize:#x#,cover", "resize:9x9,cover,anchor=#%x#%", "watermark:a.png,scale=#",
                "watermark:a.png,opacity=#", "watermark:a.png,margin=#",
            ])
        func processors(spec: String) async throws {
            for number in Self.numbers where !number.contains(",") {
                let text = spec.replacingOccurrences(of: "#fff", with: "@").replacingOccurrences(of: "#", with: number)
                    .replacingOccurrences(of: "@", with: "#fff")
                let result = try await kf.call("fetch", "a.png", "-p", text, "-o", "out.png", "--max-pixels", "1000000")
                #expect([0, 1, 2].contains(result.status), "\(result)")
            }
        }
    }
}
