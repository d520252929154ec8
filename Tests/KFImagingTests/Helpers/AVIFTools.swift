import Foundation
import Support

@testable import KFImaging

/// libavif's own programs, which make files and read them again.
enum AVIFTools {
    static let areThere = Reference.isThere("avifenc") && Reference.isThere("avifdec")
    static let absence = "no avifenc or no avifdec (package libavif-bin)"

    /// Encodes pictures with avifenc; several make an animation. `%` in an option stands for the folder of the files.
    static func make(
        _ bitmaps: [Bitmap], _ options: [String] = [], profile: [UInt8]? = nil, files: [String: [UInt8]] = [:]
    ) throws -> [UInt8] {
        let folder = try TemporaryDirectory()
        for (name, bytes) in files { try folder.write(name, Data(bytes)) }
        var inputs: [String] = []
        for (index, bitmap) in bitmaps.enumerated() {
            let image = Image(bitmap, iccProfile: profile)
            try folder.write("\(index).png", Data(ImageEncoder.encode(image, as: .png)))
            inputs.append(folder.path("\(index).png").path)
        }
        let placed = options.map { $0.replacingOccurrences(of: "%", with: folder.url.path) }
        try Reference.succeed("avifenc", ["-s", "10"] + placed + inputs + [folder.path("out.avif").path])
        return try Array(Data(contentsOf: folder.path("out.avif")))
    }

    static func make(_ bitmap: Bitmap, _ options: String...) throws -> [UInt8] { try make([bitmap], options) }

    /// The properties that `avifdec --info` prints, such as `Bit Depth`, and its other lines.
    static func info(_ avif: [UInt8]) throws -> (properties: [String: String], lines: [String]) {
        let folder = try TemporaryDirectory()
        try folder.write("in.avif", Data(avif))
        let said = try Reference.succeed("avifdec", ["--info", folder.path("in.avif").path])
        let lines = String(decoding: said, as: UTF8.self).split(separator: "\n").map(String.init)
        var properties: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: [" ", "*"]) }
            if parts.count == 2 { properties[parts[0]] = parts[1] }
        }
        return (properties, lines)
    }

    /// Decodes a picture with avifdec, which neither crops nor turns it.
    ///
    /// avifdec 0.11 writes grey of 8 bits without alpha as it is coded, also of limited range. With 16 bits for the
    /// output it converts such a picture, too.
    static func decode(_ bytes: [UInt8], frame: Int = 0, isGray: Bool = false) throws -> Bitmap {
        let folder = try TemporaryDirectory()
        try folder.write("in.avif", Data(bytes))
        let paths = [folder.path("in.avif").path, folder.path("out.png").path]
        let depth = isGray ? ["-d", "16"] : []
        try Reference.succeed(
            "avifdec", ["--no-strict", "--png-compress", "0", "--index", String(frame)] + depth + paths)
        let bitmap = try ImageDecoder.decode(Array(Data(contentsOf: folder.path("out.png")))).bitmap
        let info = try bytes.withRaw { try ImageProbe.probe($0) }
        return info.bitDepth == 8 ? try bitmap.reducedToEightBits() : bitmap
    }
}

extension Bitmap {
    /// The largest difference between two pictures of one size and depth, both as RGBA.
    func gap(to other: Bitmap) throws -> Int {
        guard width == other.width, height == other.height, format.depth == other.format.depth else { return .max }
        let (first, second) = try (expanded(color: true, alpha: true), other.expanded(color: true, alpha: true))
        var gap = 0
        first.withUnsafeRows { first in
            second.withUnsafeRows { second in
                for y in 0..<height {
                    for x in 0..<width * 4 {
                        switch format.depth {
                        case .eight: gap = max(gap, abs(Int(first.row(y)[x]) - Int(second.row(y)[x])))
                        case .sixteen: gap = max(gap, abs(Int(first.row16(y)[x]) - Int(second.row16(y)[x])))
                        }
                    }
                }
            }
        }
        return gap
    }
}
