import Foundation

@testable import KFImaging

/// Other decoders, run as programs, to compare pixels with.
enum Reference {
    static func isThere(_ program: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/" + program)
    }

    /// Returns the program's standard output; nil when it fails.
    static func run(_ program: String, _ arguments: [String]) throws -> [UInt8]? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/" + program)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let bytes = Array(output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        // djpeg exits with 2 after a warning.
        return process.terminationStatus == 0 || process.terminationStatus == 2 ? bytes : nil
    }

    struct Failure: Error {
        let program: String
        let arguments: [String]
    }

    /// Returns the program's standard output; throws when it fails.
    @discardableResult
    static func succeed(_ program: String, _ arguments: [String]) throws -> [UInt8] {
        guard let output = try run(program, arguments) else { throw Failure(program: program, arguments: arguments) }
        return output
    }

    /// The pixels of a binary PGM, PPM or PAM of 8 bits, with the number of channels.
    static func pixels(_ netpbm: [UInt8]) -> (width: Int, height: Int, channels: Int, samples: ArraySlice<UInt8>)? {
        guard netpbm.count > 2, netpbm[0] == UInt8(ascii: "P") else { return nil }
        if netpbm[1] == UInt8(ascii: "7") { return pam(netpbm) }
        let fields = netpbm.prefix(64).split(separator: 10, maxSplits: 3, omittingEmptySubsequences: false)
        guard fields.count == 4 else { return nil }
        let size = String(decoding: fields[1], as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        let start = fields[0].count + fields[1].count + fields[2].count + 3
        guard size.count == 2 else { return nil }
        return (size[0], size[1], netpbm[1] == UInt8(ascii: "5") ? 1 : 3, netpbm[start...])
    }

    private static func pam(_ bytes: [UInt8]) -> (Int, Int, Int, ArraySlice<UInt8>)? {
        let head = String(decoding: bytes.prefix(128).prefix { $0 < 128 }, as: UTF8.self)
        guard let end = head.range(of: "ENDHDR\n") else { return nil }
        func number(_ name: String) -> Int? {
            head.split(separator: "\n").first { $0.hasPrefix(name + " ") }.flatMap { Int($0.dropFirst(name.count + 1)) }
        }
        guard let width = number("WIDTH"), let height = number("HEIGHT"), let depth = number("DEPTH") else {
            return nil
        }
        return (width, height, depth, bytes[head.utf8.distance(from: head.startIndex, to: end.upperBound)...])
    }
}

extension Bitmap {
    /// Like `rgba8`, with four zeros for transparent pixels, whose colour has no meaning.
    var visible: [UInt8] {
        var bytes = rgba8
        guard format.hasAlpha else { return bytes }
        for index in stride(from: 0, to: bytes.count, by: 4) where bytes[index + 3] == 0 {
            bytes.replaceSubrange(index..<index + 4, with: [0, 0, 0, 0])
        }
        return bytes
    }

    /// The peak signal-to-noise ratio against another picture of the same size and format (of 8 bits), in dB.
    func psnr(to other: Bitmap) -> Double {
        guard width == other.width, height == other.height, format == other.format else { return 0 }
        let used = width * format.channelCount
        var sum = 0
        withUnsafeRows { mine in
            other.withUnsafeRows { theirs in
                for y in 0..<height {
                    let (first, second) = (mine.row(y), theirs.row(y))
                    for index in 0..<used where first[index] != second[index] {
                        let difference = Int(first[index]) - Int(second[index])
                        sum += difference * difference
                    }
                }
            }
        }
        return sum == 0 ? .infinity : 10 * log10(255 * 255 * Double(used * height) / Double(sum))
    }
}
