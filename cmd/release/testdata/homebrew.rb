# A stand-in for Homebrew, so that tests can run the formula without it and without the
# network. It knows the words that covey.rb uses and no others, and does with them what
# Homebrew does: it fetches the archive of a system, compares its sum, unpacks it, installs
# from it into a folder of the version (the keg), and runs the test of the formula. If
# anything fails, it says so in one line and leaves no keg.
#
#   ruby homebrew.rb FORMULA CELLAR SYSTEM PROCESSOR
#
# SYSTEM is macos or linux, and PROCESSOR arm or intel. It needs no gem, and no newer Ruby
# than 2.6, the one of macOS.
require "digest"
require "fileutils"
require "open3"
require "pathname"
require "tmpdir"

FORMULA, CELLAR, SYSTEM, PROCESSOR = ARGV

# Folders of a keg can install, as in Homebrew.
class Pathname
  def install(*names)
    mkpath
    names.each do |name|
      raise "the archive has no #{name}" unless File.file?(name)
      FileUtils.mv(name, to_s)
    end
  end
end

class Formula
  class << self
    attr_reader :test_block

    # The facts of a formula. One that is given twice for the same system is a mistake.
    %w[desc homepage version license url sha256].each do |fact|
      define_method(fact) do |*value|
        @facts ||= {}
        return @facts.fetch(fact) { raise "the formula has no #{fact} for #{SYSTEM} on #{PROCESSOR}" } if value.empty?
        raise "the formula has two of #{fact} for #{SYSTEM} on #{PROCESSOR}" if @facts.key?(fact)
        @facts[fact] = value.first
      end
    end

    def on_macos; yield if SYSTEM == "macos"; end
    def on_linux; yield if SYSTEM == "linux"; end
    def on_arm; yield if PROCESSOR == "arm"; end
    def on_intel; yield if PROCESSOR == "intel"; end

    def test(&block)
      @test_block = block
    end
  end

  def version; self.class.version; end
  def prefix; Pathname.new(CELLAR)/"covey"/version; end
  def bin; prefix/"bin"; end
  def doc; prefix/"share/doc/covey"; end

  def generate_completions_from_executable(program, *arguments)
    { "bash" => "etc/bash_completion.d/covey", "zsh" => "share/zsh/site-functions/_covey",
      "fish" => "share/fish/vendor_completions.d/covey.fish" }.each do |shell, name|
      file = prefix/name
      file.dirname.mkpath
      file.write(output(program.to_s, *arguments, shell))
    end
  end

  def shell_output(command); output("/bin/sh", "-c", command); end

  def assert_match(want, got)
    raise "the test of the formula wants #{want.inspect}, and got #{got.inspect}" unless got.include?(want)
  end

  # output returns what a command prints.
  def output(*command)
    out, err, status = Open3.capture3(*command)
    raise "#{command.join(" ")}: #{status}: #{err}" unless status.success?
    out
  end

  # fetch returns the archive, if it is the one that the formula means.
  def fetch
    url = self.class.url
    archive = url.delete_prefix("file://")
    raise "#{url} is not a local file" unless archive != url && File.file?(archive)
    sum = Digest::SHA256.file(archive).hexdigest
    raise "#{archive} has the sum #{sum}, and the formula says #{self.class.sha256}" if sum != self.class.sha256
    archive
  end

  # pour unpacks, installs and tests. If an archive has one folder, a formula installs from that.
  def pour
    archive = fetch
    Dir.mktmpdir do |dir|
      _, err, status = Open3.capture3("tar", "--extract", "--no-same-owner", "--file", archive, "-C", dir)
      raise "#{archive} cannot be unpacked: #{err.strip}" unless status.success?
      top = Dir.children(dir)
      dir = File.join(dir, top.first) if top.length == 1
      Dir.chdir(dir) { install }
    end
    Dir.mktmpdir { |dir| Dir.chdir(dir) { instance_eval(&self.class.test_block) } }
  rescue StandardError
    FileUtils.rm_rf(prefix)
    raise
  end
end

begin
  load File.expand_path(FORMULA)
  covey = Covey.new
  covey.pour
  puts covey.prefix
rescue StandardError, ScriptError => e
  abort "covey was not installed: #{e.message.scrub.split("\n").map(&:strip).join("; ")}"
end
