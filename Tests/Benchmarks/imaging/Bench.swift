import CImageCodecs
import Glibc

/// One piece of work a process, so that the process's own time and memory are the measure.
///
/// `thumbnail FILE SIDE OUT` as `vipsthumbnail` does it; `floor FILE SIDE` the library's scaled decode alone;
/// `process FILE QUALITY OUT SPEC` any processor; `recode FILE QUALITY OUT` as `djpeg | cjpeg`; `quality FILE SIDE` the distance of a scaled decode from a full one.
@main
enum Bench {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 3, let number = Int(arguments[3]) else { exit(2) }
        let bytes = read(arguments[2])
        switch arguments[1] {
        case "thumbnail":
            let image = try ImageDecoder.decode(bytes, options: .init(exactSize: fitting(bytes, number)))
            write(try ImageEncoder.encode(image, as: .jpeg, options: .init(quality: 75)), arguments[4])
        case "floor": try decodeAlone(bytes, number)
        case "recode":
            let image = try ImageDecoder.decode(bytes)
            write(try ImageEncoder.encode(image, as: .jpeg, options: .init(quality: number)), arguments[4])
        case "process":
            let image = try ProcessorParser.parse(arguments[5]).process(.data(bytes), options: .init())
            write(try ImageEncoder.encode(image, as: .jpeg, options: .init(quality: number)), arguments[4])
        case "quality":
            let size = try fitting(bytes, number)
            let scaled = try ImageDecoder.decode(bytes, options: .init(exactSize: size))
            let expected = try Resampler.resize(ImageDecoder.decode(bytes).bitmap, to: size)
            print(psnr(scaled.bitmap, expected))
        default: exit(2)
        }
    }

    private static func fitting(_ bytes: [UInt8], _ side: Int) throws(ImagingError) -> PixelSize {
        let info = try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
            try ImageProbe.probe(UnsafeRawBufferPointer(buffer))
        }
        let longest = max(info.width, info.height)
        return PixelSize(
            width: max(1, (info.width * side + longest / 2) / longest),
            height: max(1, (info.height * side + longest / 2) / longest))
    }

    private static func decodeAlone(_ bytes: [UInt8], _ side: Int) throws(ImagingError) {
        let size = try fitting(bytes, side * 3 / 2)
        try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
            var reader = try JPEGReader(UnsafeRawBufferPointer(buffer))
            let scaled = try reader.scale(JPEGScale.numerator(source: reader.size, minimum: size))
            let row = try Scratch.take(UInt8.self, scaled.width * 4)
            defer { Scratch.give(row) }
            try reader.start(maxScans: 200)
            for _ in 0..<scaled.height { try reader.read(row, bytesPerRow: scaled.width * 4, count: 1) }
        }
    }

    private static func psnr(_ first: Bitmap, _ second: Bitmap) -> Double {
        var sum = 0
        let used = first.width * first.format.channelCount
        first.withUnsafeRows { first in
            second.withUnsafeRows { second in
                for y in 0..<first.height {
                    for index in 0..<used {
                        let difference = Int(first.row(y)[index]) - Int(second.row(y)[index])
                        sum += difference * difference
                    }
                }
            }
        }
        return 10 * log10(255 * 255 * Double(used * first.height) / Double(max(sum, 1)))
    }

    private static func read(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "rb") else { exit(1) }
        defer { fclose(file) }
        fseek(file, 0, SEEK_END)
        let count = ftell(file)
        rewind(file)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            used = fread(buffer.baseAddress, 1, count, file)
        }
    }

    private static func write(_ bytes: [UInt8], _ path: String) {
        guard let file = fopen(path, "wb") else { exit(1) }
        _ = bytes.withUnsafeBufferPointer { fwrite($0.baseAddress, 1, $0.count, file) }
        fclose(file)
    }
}
